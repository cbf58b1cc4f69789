"""Takes SQL statements in order and keeps what they come to: tables and columns defined, used, taken away; words are sql_words'."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from interlock.adapters.facts.sql_query import Query, selected
from interlock.adapters.facts.sql_words import Word, matching, name_at, split
from interlock.core.merge.facts import Mark

_CONSTRAINTS = frozenset(
    {
        "constraint",
        "primary",
        "unique",
        "check",
        "foreign",
        "exclude",
        "like",
        "period",
        "index",
        "key",
        "fulltext",
        "spatial",
    }
)


@dataclass(slots=True)
class Schema:
    """Tables and columns as the statements of one text leave them."""

    before: int
    made: dict[str, dict[str, int]] = field(default_factory=dict)
    added: dict[tuple[str, str], int] = field(default_factory=dict)
    gone: dict[tuple[str, str], int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    tables: dict[str, int] = field(default_factory=dict)
    indexes: dict[str, int] = field(default_factory=dict)
    used: dict[tuple[str, str], int] = field(default_factory=dict)
    lenient: set[str] = field(default_factory=set)
    needed: dict[tuple[str, str], str] = field(default_factory=dict)
    rows: list[tuple[str, list[str], int]] = field(default_factory=list)
    """Tables and indexes, and ``table.column``, that are only made where they are not there yet."""

    def take(self, all_words: list[Word]) -> None:
        head = [word.low for word in all_words[:6]]
        match head:
            case ["create", *rest]:
                self._create(all_words, rest)
            case ["alter", "table", *_]:
                self._alter(all_words)
            case ["drop", "table" | "view", *_]:
                self._drop(all_words, 2)
            case ["drop", "materialized", "view", *_]:
                self._drop(all_words, 3)
            case ["select" | "insert" | "update" | "delete" | "with" | "replace" | "merge" | "explain", *_]:
                self._query(all_words)
            case ["(", "select", *_]:
                self._query(all_words)
            case _:
                pass

    def told(self) -> Iterator[Mark]:
        kept = {(table, name): at for table, columns in self.made.items() for name, at in columns.items()}
        for table, at in {**self.tables}.items():
            yield Mark(kind="table", name=table, line=at, role="defines", detail=self._how(table))
        for (table, name), at in {**kept, **self.added}.items():
            how = self._how(table) or self._how(f"{table}.{name}") or self.needed.get((table, name), "")
            yield Mark(kind="column", name=name, line=at, role="defines", scope=table, detail=how)
        for table, at in self.dropped.items():
            yield Mark(kind="table", name=table, line=at, role="removes")
        for (table, name), at in self.gone.items():
            yield Mark(kind="column", name=name, line=at, role="removes", scope=table)
        for index, at in self.indexes.items():
            if not self._how(index):
                yield Mark(kind="registration", name=index, line=at, role="defines", scope="index")
        for table, columns, at in self.rows:
            yield Mark(kind="table", name=table, line=at, role="uses", detail=f"insert:{','.join(columns)}")
        for (table, name), at in self.used.items():
            if name:
                yield Mark(kind="column", name=name, line=at, role="uses", scope=table)
            else:
                yield Mark(kind="table", name=table, line=at, role="uses")

    def _how(self, name: str) -> str:
        return "if not exists" if name in self.lenient else ""

    # What changes the schema.

    def _create(self, them: list[Word], rest: list[str]) -> None:
        at = 1
        while at < len(them) and them[at].low in {
            "or", "replace", "temp", "temporary", "unlogged", "global", "local", "unique", "materialized", "recursive",
            "external", "foreign", "virtual", "fulltext",
        }:  # fmt: skip
            at += 1
        what = them[at].low if at < len(them) else ""
        fleeting = "temp" in rest or "temporary" in rest
        match what:
            case "table" if not fleeting:
                self._create_table(them, at + 1, rest)
            case "view":
                self._create_view(them, at + 1)
            case "index":
                self._create_index(them, at + 1)
            case _:
                pass

    def _create_table(self, them: list[Word], at: int, rest: list[str]) -> None:
        table, at, line = self._name(them, self._skip(them, at))
        if not table:
            return
        self.tables[table] = line
        self.made[table] = {}
        if "exists" in rest[:5]:
            self.lenient.add(table)
        # Made anew: what was dropped before it is not gone.
        self.dropped.pop(table, None)
        if at < len(them) and them[at].low == "(":
            for item in split(them[at + 1 : matching(them, at)], ","):
                self._definition(table, item)
        elif any(word.low == "select" for word in them[at:]):
            self._query(them[at:])

    def _definition(self, table: str, item: list[Word]) -> None:
        named_so = item[0].low in _CONSTRAINTS and not (
            # `key text` and `index int` are columns; `primary key (…)` is none.
            item[0].low in {"key", "index", "like", "period", "check"}
            and len(item) > 1
            and item[1].kind == "name"
            and not any(word.low == "(" for word in item[:3])
        )
        if item[0].kind == "quoted" or (item[0].kind == "name" and not named_so):
            self.made.setdefault(table, {})[item[0].low] = self._line(item[0])
            if _must_be_given(item):
                self.needed[table, item[0].low] = "required"
        self._references(table, item)

    def _references(self, table: str, item: list[Word]) -> None:
        for at, word in enumerate(item):
            if word.low in {"references", "foreign"}:
                if word.low == "foreign":
                    open_at = next((i for i in range(at, len(item)) if item[i].low == "("), len(item))
                    self._columns(table, item, open_at)
                    continue
                other, after, line = self._name(item, at + 1)
                if other:
                    self.used.setdefault((other, ""), line)
                    self._columns(other, item, after)

    def _columns(self, table: str, them: list[Word], at: int) -> None:
        """Columns in brackets that begin at ``at``."""
        if at < len(them) and them[at].low == "(":
            for item in split(them[at + 1 : matching(them, at)], ","):
                if item[0].kind in {"name", "quoted"} and not (len(item) > 1 and item[1].low in {"(", "."}):
                    self.used.setdefault((table, item[0].low), self._line(item[0]))

    def _create_view(self, them: list[Word], at: int) -> None:
        view, at, line = self._name(them, self._skip(them, at))
        if not view:
            return
        self.tables[view] = line
        columns = self.made.setdefault(view, {})
        self.dropped.pop(view, None)
        start = next((i for i in range(at, len(them)) if them[i].low == "as"), len(them))
        if at < start and them[at].low == "(":
            for item in split(them[at + 1 : matching(them, at)], ","):
                columns[item[0].low] = self._line(item[0])
        else:
            for name in selected(them[start + 1 :]):
                columns[name.low] = self._line(name)
        self._query(them[start + 1 :])

    def _create_index(self, them: list[Word], at: int) -> None:
        at = self._skip(them, at)
        if at < len(them) and them[at].low != "on":
            name, at, line = self._name(them, at)
            if name:
                self.indexes[name] = line
                if any(word.low == "exists" for word in them[:7]):
                    self.lenient.add(name)
        if at < len(them) and them[at].low == "on":
            table, at, line = self._name(them, at + (2 if at + 1 < len(them) and them[at + 1].low == "only" else 1))
            if table:
                self._touch(table, "", line)
                if at < len(them) and them[at].low == "using":
                    at += 2
                if at < len(them) and them[at].low == "(":
                    for item in split(them[at + 1 : matching(them, at)], ","):
                        if item[0].kind in {"name", "quoted"} and not (len(item) > 1 and item[1].low == "("):
                            self._touch(table, item[0].low, self._line(item[0]))

    def _drop(self, them: list[Word], at: int) -> None:
        for item in split(them[self._skip(them, at) :], ","):
            table, _, line = self._name(item, 0)
            if table:
                self._gone_table(table, line)

    def _gone_table(self, table: str, line: int) -> None:
        made_here = table in self.tables
        self.tables.pop(table, None)
        self.made.pop(table, None)
        if not made_here:
            self.dropped[table] = line

    def _alter(self, them: list[Word]) -> None:
        at = self._skip(them, 2)
        if at < len(them) and them[at].low == "only":
            at += 1
        table, at, line = self._name(them, at)
        if not table:
            return
        self._touch(table, "", line)
        for action in split(them[at:], ","):
            self._action(table, action)

    def _action(self, table: str, action: list[Word]) -> None:  # noqa: C901, PLR0912 - one case a kind of action
        low = [word.low for word in action]
        rest = action[1:]
        if rest and rest[0].low == "column":
            rest = rest[1:]
        rest = rest[self._skip(rest, 0) :]
        first = rest[0] if rest else None
        if first is None:
            return
        match low[0]:
            case "add" if first.low == "(":
                for item in split(rest[1 : matching(rest, 0)], ","):
                    self._gain(table, item[0])
            case "add" if first.kind == "quoted" or first.low not in _CONSTRAINTS:
                self._gain(table, first)
                if "exists" in low[:5]:
                    self.lenient.add(f"{table}.{first.low}")
                self._references(table, rest)
            case "add":
                self._references(table, rest)
            case "drop" if first.kind == "quoted" or (
                first.low not in _CONSTRAINTS and (first.low not in {"default", "not", "expression", "identity"})
            ):
                self._lose(table, first)
            case "rename" if first.low in {"to", "as"} and len(rest) > 1:
                other, _, line = self._name(rest, 1)
                self._renamed_table(table, other, line)
            case "rename" if first.low not in {"index", "key", "constraint"} and "to" in low:
                self._lose(table, first)
                self._gain(table, action[low.index("to") + 1] if low.index("to") + 1 < len(action) else first)
            case "change" if len(rest) > 1 and first.low != rest[1].low:
                self._lose(table, first)
                self._gain(table, rest[1])
            case "alter" | "modify" | "change" if first.low not in {"constraint", "index"}:
                self._touch(table, first.low, self._line(first))
            case _:
                pass

    def _gain(self, table: str, word: Word) -> None:
        if word.kind in {"name", "quoted"}:
            self.gone.pop((table, word.low), None)
            self.added[table, word.low] = self._line(word)

    def _lose(self, table: str, word: Word) -> None:
        if word.kind not in {"name", "quoted"}:
            return
        here = self.made.get(table, {}).pop(word.low, None) is not None
        here = self.added.pop((table, word.low), None) is not None or here
        if not here:
            self.gone[table, word.low] = self._line(word)

    def _renamed_table(self, table: str, other: str, line: int) -> None:
        columns = self.made.get(table)
        self._gone_table(table, line)
        self.tables[other] = line
        self.dropped.pop(other, None)
        if columns is not None:
            self.made[other] = columns

    def _touch(self, table: str, name: str, line: int) -> None:
        """Names a table or column of before; what this text made itself is no use of another's."""
        if table not in self.made and (table, name) not in self.added:
            self.used.setdefault((table, name), line)

    # What reads and writes rows.

    def _query(self, them: list[Word]) -> None:
        read = Query(them)
        self._inserted(them)
        for table, word in read.tables:
            self._touch(table, "", self._line(word))
        for table, word in read.columns():
            self._touch(table, word.low, self._line(word))

    def _inserted(self, them: list[Word]) -> None:
        """The columns that an ``INSERT`` with a list of them gives."""
        start = next((at for at, word in enumerate(them[:4]) if word.low == "into"), None)
        if start is None or them[0].low != "insert":
            return
        table, at, line = self._name(them, start + 1)
        if table and at < len(them) and them[at].low == "(":
            columns = [item[0].low for item in split(them[at + 1 : matching(them, at)], ",") if item]
            self.rows.append((table, columns, line))

    def _name(self, them: list[Word], at: int) -> tuple[str, int, int]:
        name, after = name_at(them, at)
        return name, after, self._line(them[at]) if at < len(them) else 0

    def _line(self, word: Word) -> int:
        return word.line + self.before

    @staticmethod
    def _skip(them: list[Word], at: int) -> int:
        while at < len(them) and them[at].kind == "name" and them[at].low in {"if", "not", "exists", "concurrently"}:
            at += 1
        return at


def _must_be_given(item: list[Word]) -> bool:
    """Whether a row must give a column: it is never null, and nothing fills it."""
    words = [word.low for word in item]
    filled = {"default", "generated", "identity", "auto_increment", "autoincrement", "serial", "bigserial", "rowid"}
    never = any(pair == ("not", "null") for pair in pairwise(words))
    return never and not filled & set(words) and "primary" not in words
