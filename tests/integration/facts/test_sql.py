"""What the reader of SQL tells of a file, what it comes to in order, and which texts in code are SQL."""

from __future__ import annotations

import pytest

from interlock.adapters.facts.sql import read
from interlock.adapters.facts.sql_in_code import marks_in_code, plainly_sql


def told(text: str, path: str = "db/0002_x.sql") -> set[tuple[str, str, str, str]]:
    found = read(path, text.encode())
    assert not found.fault
    return {(each.kind, each.name, each.role, each.scope) for each in found.marks}


@pytest.mark.parametrize(
    ("data", "said"), [(b"\xff\xfe", "UTF-8"), (b"SELECT 1;\0", "zero"), (b"-" * 2_100_000, "more than")]
)
def test_a_file_that_cannot_be_read_says_so(data: bytes, said: str) -> None:
    found = read("a.sql", data)
    assert said in found.fault
    assert not found.marks


@pytest.mark.parametrize(
    "text",
    [
        "(" * 50_000,
        "'" + "x" * 50_000,
        "$$" + "y" * 50_000,
        "/*" * 20_000,
        '"' * 9_999,
        "CREATE TABLE a (" * 5_000,
        ";" * 50_000,
    ],
)
def test_no_text_makes_it_fail(text: str) -> None:
    assert not read("a.sql", text.encode()).fault


def test_tables_columns_and_constraints() -> None:
    found = told(
        'CREATE TABLE IF NOT EXISTS shop."Orders" (id INT PRIMARY KEY, total NUMERIC(10,2) DEFAULT 0 CHECK (total > 0),'
        " user_id INT REFERENCES public.users(id), CONSTRAINT one UNIQUE (id, total), FOREIGN KEY (user_id) REFERENCES users (id));"
    )
    assert {each for each in found if each[2] == "defines"} == {
        ("table", "shop.orders", "defines", ""),
        ("column", "id", "defines", "shop.orders"),
        ("column", "total", "defines", "shop.orders"),
        ("column", "user_id", "defines", "shop.orders"),
    }
    assert {("table", "users", "uses", ""), ("column", "id", "uses", "users")} <= found


@pytest.mark.parametrize(
    ("text", "gone", "new"),
    [
        ("ALTER TABLE o RENAME COLUMN total TO amount;", "total", "amount"),
        ("ALTER TABLE o RENAME total TO amount;", "total", "amount"),
        ("ALTER TABLE o CHANGE total amount INT NOT NULL;", "total", "amount"),
        ("ALTER TABLE o ADD COLUMN amount INT, DROP COLUMN IF EXISTS total CASCADE;", "total", "amount"),
        ("ALTER TABLE ONLY o DROP total, ADD amount INT;", "total", "amount"),
    ],
)
def test_columns_that_are_taken_away(text: str, gone: str, new: str) -> None:
    assert {("column", gone, "removes", "o"), ("column", new, "defines", "o")} <= told(text)


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE o DROP CONSTRAINT total;",
        "ALTER TABLE o ALTER COLUMN total DROP DEFAULT;",
        "ALTER TABLE o RENAME INDEX total TO amount;",
        "ALTER TABLE o DROP COLUMN total; ALTER TABLE o ADD COLUMN total INT;",
        "CREATE TABLE n (total INT); INSERT INTO n (total) SELECT total FROM o; DROP TABLE o; ALTER TABLE n RENAME TO o;",
        "CREATE FUNCTION f() RETURNS int AS $$ BEGIN ALTER TABLE o DROP COLUMN total; END $$ LANGUAGE plpgsql;",
        "CREATE TRIGGER t AFTER INSERT ON o BEGIN DELETE FROM x; DROP TABLE o; END;",
        "-- ALTER TABLE o DROP COLUMN total;",
        "-- +goose Up\nSELECT 1;\n-- +goose Down\nDROP TABLE o;",
    ],
)
def test_what_takes_no_column_and_no_table_away(text: str) -> None:
    assert not {each for each in told(text) if each[2] == "removes"}


def test_the_way_back_is_left_out() -> None:
    assert told("DROP TABLE orders;", "db/0002_x.down.sql") == set()
    assert told("DROP TABLE orders;", "db/U2__x.sql") == set()
    assert told("-- migrate:down\nDROP TABLE a;\n-- migrate:up\nCREATE TABLE b (c INT);\n") == {
        ("table", "b", "defines", ""),
        ("column", "c", "defines", "b"),
    }


def test_what_a_query_uses() -> None:
    found = told(
        "WITH big AS (SELECT id FROM lines WHERE size > 3) SELECT o.total AS t, u.name FROM orders AS o JOIN users u ON u.id = o.user_id"
        " WHERE o.note = 'x' AND o.id IN (SELECT id FROM big) ORDER BY t;"
        "INSERT INTO log (at, what) VALUES (now(), :what) ON CONFLICT (at) DO UPDATE SET what = excluded.what;"
        "UPDATE stock SET amount = amount - 1 WHERE item = %(item)s; DELETE FROM old WHERE age > 3;"
    )
    assert {
        ("table", "lines", "uses", ""),
        ("column", "total", "uses", "orders"),
        ("column", "name", "uses", "users"),
        ("column", "note", "uses", "orders"),
        ("column", "what", "uses", "log"),
        ("column", "amount", "uses", "stock"),
        ("column", "age", "uses", "old"),
    } <= found
    assert not {each for each in found if each[1] in {"big", "t", "now", "excluded"}}


def test_views_and_indexes() -> None:
    found = told("CREATE VIEW v AS SELECT id, total AS t FROM o; CREATE UNIQUE INDEX i ON o (total, lower(name));")
    assert {
        ("table", "v", "defines", ""),
        ("column", "t", "defines", "v"),
        ("column", "total", "uses", "o"),
        ("registration", "i", "defines", "index"),
    } <= found


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("SELECT total FROM orders", True),
        ("select id, total from orders", True),
        ("\n  INSERT INTO orders (id) VALUES (%s)\n", True),
        ("UPDATE orders SET total = ?", True),
        ("DELETE FROM orders WHERE id = 1", True),
        ("WITH x AS (SELECT id FROM orders) SELECT * FROM x", True),
        ("ALTER TABLE orders ADD note TEXT", True),
        ("Select a file from the list", False),
        ("select a file from the list", False),
        ("Update the set of files", False),
        ("delete from the list", False),
        ("Drop table here", False),
        ("insert into the box", False),
        ("create table tennis club", False),
    ],
)
def test_which_texts_are_plainly_sql(text: str, sql: bool) -> None:
    assert plainly_sql(text) is sql
    assert bool(list(marks_in_code(text, 1))) is sql
