"""Declared overlaps of two cards: which path, of which kind, and what would mend it."""

from __future__ import annotations

from interlock.core.contract.card import Card, Check
from interlock.core.contract.overlap import claim, overlap_table, overlaps_of


def card(slug: str, owned: list[str], read: list[str] | None = None, prohibited: list[str] | None = None) -> Card:
    return Card(
        slug=slug,
        class_name="vertical-slice",
        owned_paths=tuple(owned),
        read_only_paths=tuple(read or ()),
        prohibited_paths=tuple(prohibited or ()),
        checks=(Check(run="npm test"),),
        stop_when=("a change outside owned_paths is needed",),
        integration_owner="@ana",
    )


def found(one: Card, other: Card) -> list[tuple[str, str, str, str]]:
    rows = overlaps_of(claim(one, one.prohibited_paths), claim(other, other.prohibited_paths))
    return [(row.a, row.b, row.kind, row.path) for row in rows]


def test_two_that_own_a_path_are_told_with_a_witness() -> None:
    rows = found(card("a", ["src/billing/**"]), card("b", ["src/**/test_*.py"]))
    assert rows == [("a", "b", "write-write", "src/billing/test_.py")]


def test_one_that_owns_what_the_other_reads_is_told_with_the_owner_first() -> None:
    reader = card("a", ["src/a/**"], read=["src/client.ts"])
    owner = card("b", ["src/client.ts"])
    assert found(reader, owner) == [("b", "a", "write-read", "src/client.ts")]


def test_two_that_read_the_same_do_not_overlap() -> None:
    assert found(card("a", ["src/a/**"], read=["lib/**"]), card("b", ["src/b/**"], read=["lib/**"])) == []


def test_siblings_with_a_common_beginning_do_not_overlap() -> None:
    assert found(card("a", ["src/foo"]), card("b", ["src/foobar/**"])) == []


def test_exceptions_are_not_owned_whatever_their_order() -> None:
    """Case PG-05: excludes win over includes, and overlap uses the same result as scope."""
    wide = card("a", ["src/**"], prohibited=["src/gen/**"])
    assert found(wide, card("b", ["src/gen/**"])) == []
    assert found(wide, card("b", ["src/gen/**", "src/x.py"])) == [("a", "b", "write-write", "src/x.py")]
    assert found(card("a", ["src/**"], read=["src/gen/**"]), card("b", ["src/gen/x"])) == [
        ("b", "a", "write-read", "src/gen/x")
    ]


def test_each_fix_says_which_paths_to_narrow() -> None:
    whole, part = card("a", ["src/**", "docs/**"]), card("b", ["src/billing/**", "web/**"])
    (row,) = overlaps_of(claim(whole), claim(part))
    assert row.fix == "Narrow a: add src/billing/** to its prohibited_paths; or let one card depend on the other."
    assert found(card("a", ["src/**", "docs/**"], prohibited=["src/billing/**"]), part) == []


def test_a_card_that_owns_nothing_of_its_own_is_to_be_merged() -> None:
    (row,) = overlaps_of(claim(card("a", ["src/**"])), claim(card("b", ["src/billing/**"])))
    assert row.fix == "Merge b into a: everything that it owns, a owns as well."


def test_a_partial_overlap_asks_for_a_serial_card() -> None:
    (row,) = overlaps_of(claim(card("a", ["src/*.py", "x"])), claim(card("b", ["src/test_*", "y"])))
    assert "serial card" in row.fix
    assert row.path == "src/test_.py"


def test_a_reader_is_told_to_depend_on_the_owner() -> None:
    (row,) = overlaps_of(claim(card("a", ["src/a/**"], read=["lib/x.ts"])), claim(card("b", ["lib/**"])))
    assert row.fix.startswith("Let a depend on b")
    assert row.as_json() == {
        "a": "b",
        "b": "a",
        "kind": "write-read",
        "path": "lib/x.ts",
        "fix": row.fix,
        "a_pattern": "lib/**",
        "b_pattern": "lib/x.ts",
    }


def test_the_table_leaves_ordered_pairs_out_and_agrees_with_every_pair_by_itself() -> None:
    cards = [
        card("a", ["src/**"], read=["lib/*"]),
        card("b", ["src/billing/**"], read=["docs/x.md"]),
        card("c", ["lib/x"], read=["src/billing/y"]),
        card("d", ["**/x.md"]),
        card("e", ["other/[ab]/*"]),
        card("f", ["other/a/z", "lib"]),
    ]
    claims = [claim(each) for each in cards]
    expected = [row for n, one in enumerate(claims) for other in claims[n + 1 :] for row in overlaps_of(one, other)]
    assert list(overlap_table(claims, lambda *_: False)) == expected
    assert len(expected) > 6
    kept = overlap_table(claims, lambda one, other: {one, other} == {"a", "b"})
    assert list(kept) == [row for row in expected if {row.a, row.b} != {"a", "b"}]


def test_five_hundred_cards_that_share_a_read_file_are_quick() -> None:
    claims = [claim(card(f"c{n}", [f"src/m{n}/**"], read=["src/client.ts"])) for n in range(500)]
    assert overlap_table(claims, lambda *_: False) == ()
