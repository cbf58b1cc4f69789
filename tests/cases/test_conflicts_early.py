"""Conflicts seen early by the command line: odd names (PG-06), no common ancestor (PG-08), numbers of migrations (DB-08), lists that are cut."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

LINES = "".join(f"line {number}\n" for number in range(20))
ODD = [
    "src/näme.txt",
    "src/with space.txt",
    "src/tab\there.txt",
    "src/new\nline.txt",
    'src/quote".txt',
    os.fsdecode(b"src/latin\xe9.txt"),
]


@pytest.fixture
def plain(world):
    """A repository without any set-up of ours but a base."""
    for name in ("interlock.yaml", "tasks/caps.txt"):
        (world.repo / name).unlink()
    return world


def branch(world, name: str, files: dict[str, str | None], start: str = "main") -> None:
    world.git("switch", "-q", "-c", name, start)
    for path, text in files.items():
        target = world.repo / path
        if text is None:
            target.unlink()
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", name)
    world.git("switch", "-q", "main")


def changed(number: int, text: str) -> str:
    return LINES.replace(f"line {number}\n", f"{text}\n")


def test_odd_names_are_told_once_and_in_full(plain):
    for name in ODD:
        plain.write(name, LINES)
    plain.push()
    for slug in ("one", "two"):
        branch(plain, f"agent/{slug}", {name: changed(7, slug) for name in ODD})
    found = plain.ask("conflicts", "--base", "main", code=1)
    assert sorted(pair["path"] for pair in found["pairs"]) == sorted(ODD)
    assert {pair["line"] for pair in found["pairs"]} == {8}
    text = plain.cli("conflicts", "--base", "main", code=1).stdout
    assert "src/tab\\there.txt" in text
    assert "src/latin\\xe9.txt" in text
    assert not (plain.repo / ".git" / "interlock").exists(), "nothing was set up"


def test_a_branch_without_a_common_ancestor_is_refused_and_the_rest_goes_on(plain):
    plain.write("a.txt", LINES)
    plain.push()
    for slug in ("one", "two"):
        branch(plain, f"agent/{slug}", {"a.txt": changed(7, slug)})
    plain.git("switch", "-q", "--orphan", "agent/lone")
    plain.git("commit", "-q", "--allow-empty", "-m", "lone")
    plain.git("switch", "-q", "main")
    found = plain.ask("conflicts", "--base", "main", code=1)
    assert [{pair["a"], pair["b"]} for pair in found["pairs"]] == [{"agent/one", "agent/two"}]
    assert any("agent/lone" in each["why"] and "common ancestor" in each["why"] for each in found["skipped"])


def test_a_change_that_no_longer_fits_the_base_has_a_row_of_its_own(plain):
    plain.write("a.txt", LINES)
    plain.push()
    for slug in ("late", "fits"):
        branch(plain, f"agent/{slug}", {"a.txt" if slug == "late" else "b.txt": changed(7, slug)})
    plain.write("a.txt", changed(7, "main went on"))
    plain.push()
    found = plain.ask("conflicts", "--base", "main", "--tier", "text", code=1)
    (pair,) = found["pairs"]
    assert (pair["a"], pair["b"], pair["path"]) == ("agent/late", "main", "a.txt")
    assert found["order"] == ["agent/fits", "agent/late"]


@pytest.mark.parametrize("refs", [(), ("agent/one",), ("agent/one", "agent/one"), ("main", "agent/one")])
def test_what_goes_together_ends_with_zero(plain, refs):
    plain.write("a.txt", LINES)
    plain.push()
    branch(plain, "agent/one", {"a.txt": changed(7, "x")})
    found = plain.ask("conflicts", *refs, "--base", "main")
    assert (found["pairs"], found["skipped"]) == ([], [])
    assert set(found["cost"]) == {"declared", "text", "facts", "diagnostics"}


def test_a_ref_that_does_not_exist_is_a_wrong_call(plain):
    plain.write("a.txt", LINES)
    plain.push()
    assert plain.ask("conflicts", "no-such", "--base", "main", code=2)["code"] == "unknown-ref"


def test_a_removed_name_is_found_with_symbol_file_and_line(plain):
    plain.write("app/core.py", "def load(path):\n    return path\n\n\ndef other():\n    return 1\n")
    plain.write("app/use.py", "from app.core import other\n\nprint(other())\n")
    plain.push()
    branch(plain, "agent/rename", {"app/core.py": "def read(path):\n    return path\n\n\ndef other():\n    return 1\n"})
    branch(plain, "agent/use", {"app/use.py": "from app.core import load, other\n\nprint(other(), load('x'))\n"})
    found = plain.ask("conflicts", "--base", "main", code=1)
    pair = found["pairs"][0]
    assert {pair["a"], pair["b"]} == {"agent/rename", "agent/use"}
    assert (pair["kind"], pair["tier"], pair["path"], pair["line"], pair["symbol"]) == (
        "semantic",
        "facts",
        "app/use.py",
        1,
        "load",
    )
    assert {place["change"] for place in pair["places"]} == {"agent/rename", "agent/use"}
    assert pair["action"]
    left_out = plain.ask("conflicts", "--base", "main", "--tier", "text")
    assert (left_out["pairs"], {each["tier"] for each in left_out["skipped"]}) == ([], {"facts", "diagnostics"})


def test_checkers_that_cannot_run_here_are_skipped_and_that_is_no_success(plain):
    plain.write("a.txt", LINES)
    plain.write("interlock.yaml", "diagnostics: [{name: types, run: mypy .}]\n")
    plain.push()
    branch(plain, "agent/one", {"a.txt": changed(7, "x")})
    branch(plain, "agent/two", {"b.txt": "x\n"})
    found = plain.ask("conflicts", "--base", "main", code=1)
    assert found["pairs"] == []
    assert [each["tier"] for each in found["skipped"]] == ["diagnostics"]
    assert "types" in found["skipped"][0]["why"]
    plain.ask("conflicts", "--base", "main", "--no-diagnostics")


def test_two_migrations_of_one_number_clash_although_their_names_differ(plain):
    plain.write("migrations/0006_base.sql", "create table t (a int);\n")
    plain.push()
    branch(plain, "agent/a", {"migrations/0007_a.sql": "alter table t add b int;\n"})
    branch(plain, "agent/b", {"migrations/0007_b.sql": "alter table t add c int;\n", "notes/0007_b.txt": "x\n"})
    branch(plain, "agent/c", {"migrations/0008_c.sql": "select 1;\n", "notes/0007_c.txt": "x\n"})
    found = plain.ask("overlap", "--base", "main")
    assert found["files"] == {}
    assert found["numbers"] == [
        {
            "folder": "migrations",
            "number": "7",
            "files": {"migrations/0007_a.sql": ["agent/a"], "migrations/0007_b.sql": ["agent/b"]},
        }
    ]
    assert "number 7 is taken twice" in plain.cli("overlap", "--base", "main").stdout
    plain.write("interlock.yaml", "numbered: ['notes/*']\n")
    plain.push()
    (row,) = plain.ask("overlap", "--base", "main")["numbers"]
    assert row["folder"] == "notes"


def test_a_list_that_is_cut_says_so(plain):
    for number in range(50):
        plain.write(f"f{number}.txt", LINES)
    plain.push()
    for slug in ("one", "two"):
        branch(plain, f"agent/{slug}", {f"f{number}.txt": changed(7, slug) for number in range(50)})
    text = plain.cli("conflicts", "--base", "main", "--tier", "text", code=1).stdout
    assert "… and 10 more" in text
    assert len(plain.ask("conflicts", "--base", "main", "--tier", "text", code=1)["pairs"]) == 50


def test_cards_that_declare_the_same_are_told_and_are_no_conflict(world):
    world.write("a.txt", LINES)
    world.card("one", owns='["shared/**"]')
    world.card("two", owns='["shared/x/**"]')
    world.push()
    for slug in ("one", "two"):
        branch(world, f"agent/{slug}", {f"{slug}.txt": "x\n"})
    found = world.ask("conflicts", "--base", "main")
    (row,) = found["overlaps"]
    assert {row["a"], row["b"]} == {"agent/one", "agent/two"}
    assert row["kind"] == "write-write"
    assert "both own" in world.cli("conflicts", "--base", "main").stdout


def test_a_driver_in_the_repository_is_not_run(plain, tmp_path):
    ran = tmp_path / "ran"
    plain.write(".gitattributes", "*.lock merge=mine\n")
    plain.write("a.lock", LINES)
    plain.push()
    for slug in ("one", "two"):
        branch(plain, f"agent/{slug}", {"a.lock": changed(3 if slug == "one" else 17, slug)})
    plain.git("config", "merge.mine.driver", f"touch {ran}; true")
    found = plain.ask("conflicts", "--base", "main", "--tier", "text", code=1)
    (pair,) = found["pairs"]
    assert "the merge driver mine, which is never run" in pair["why"]
    assert not Path(ran).exists()
    assert json.dumps(found)


def test_code_that_nothing_reads_is_said_and_fails_only_the_tier_that_was_asked_for(plain):
    plain.write("a.c", "int a;\n")
    plain.write("b.rb", "b = 1\n")
    plain.push()
    branch(plain, "agent/c", {"a.c": "int b;\n"})
    branch(plain, "agent/ruby", {"b.rb": "b = 2\n"})
    branch(plain, "agent/words", {"notes.md": "x\n", "LICENSE": "x\n", "app.py": "x = 1\n"})
    found = plain.ask("conflicts", "--base", "main")
    (skipped,) = found["skipped"]
    assert skipped == {
        "tier": "facts",
        "why": "Nothing reads .c, .rb: 1 pair was looked at as text only.",
        "pairs": skipped["pairs"],
        "limit": True,
    }
    assert [set(pair) for pair in skipped["pairs"]] == [{"agent/c", "agent/ruby"}]
    text = plain.cli("conflicts", "--base", "main").stdout
    assert "No conflict found in what was looked at: " in text
    assert "skipped (facts): Nothing reads .c, .rb" in text
    assert plain.ask("conflicts", "--base", "main", "--tier", "facts", code=1)["pairs"] == []
    plain.ask("conflicts", "--base", "main", "--no-diagnostics")
    plain.ask("conflicts", "--base", "main", "--tier", "text")


@pytest.mark.parametrize(("name", "said"), [("tool", "tool"), ("bin/.hidden", ".hidden"), ("x.RS", ".RS")])
def test_a_script_without_a_suffix_counts_as_code(plain, name, said):
    plain.write("a.txt", LINES)
    plain.push()
    branch(plain, "agent/one", {f"one/{name}": "x\n"})
    branch(plain, "agent/two", {f"two/{name}": "x\n"})
    (skipped,) = plain.ask("conflicts", "--base", "main")["skipped"]
    assert skipped["why"].startswith(f"Nothing reads {said}: 1 pair")


def test_what_reads_both_is_clear_without_a_word(plain):
    plain.write("a.txt", LINES)
    plain.push()
    branch(plain, "agent/one", {"one.py": "x = 1\n", "README": "x\n"})
    branch(plain, "agent/two", {"two.py": "y = 1\n", "README.md": "x\n"})
    assert "No conflict found: " in plain.cli("conflicts", "--base", "main").stdout


def test_a_demanded_tier_of_checkers_that_nobody_configured_is_no_success(plain):
    plain.write("a.txt", LINES)
    plain.push()
    branch(plain, "agent/one", {"b.txt": "x\n"})
    (skipped,) = plain.ask("conflicts", "--base", "main", "--tier", "diagnostics", code=1)["skipped"]
    assert (skipped["tier"], "No checker is configured" in skipped["why"]) == ("diagnostics", True)


def test_a_misspelt_key_of_a_checker_is_told_with_its_line_and_column(plain):
    plain.write("a.txt", LINES)
    plain.write("interlock.yaml", "numbered: []\ndiagnostics:\n  - {name: types, rum: mypy .}\n")
    plain.push()
    branch(plain, "agent/one", {"a.txt": changed(7, "x")})
    (skipped,) = plain.ask("conflicts", "--base", "main", code=1)["skipped"]
    assert "interlock.yaml:3:19: " in skipped["why"]
    assert "rum" in skipped["why"]
    assert "[unknown-key]" in skipped["why"]


@pytest.mark.parametrize("renames_first", [True, False])
def test_each_side_of_a_rename_is_told_by_its_own_path(plain, renames_first):
    plain.write("src/use.ts", LINES)
    plain.write("src/other.ts", "export const other = 1;\n" * 9)
    plain.push()
    ways: dict[str, dict[str, str | None]] = {
        "agent/edits": {"src/use.ts": changed(7, "edited"), "src/other.ts": "export const other = 2;\n" * 9},
        "agent/moves": {"src/use.ts": None, "src/used.ts": changed(7, "moved")},
    }
    for name in sorted(ways, reverse=renames_first):
        branch(plain, name, ways[name])
    pairs = plain.ask("conflicts", "--base", "main", code=1)["pairs"]
    (pair,) = [pair for pair in pairs if pair["tier"] == "text"]
    assert {place["change"]: (place["path"], place["line"], place["text"]) for place in pair["places"]} == {
        "agent/edits": ("src/use.ts", 8, "edited"),
        "agent/moves": ("src/used.ts", 8, "moved"),
    }


def test_the_suggested_order_names_only_what_meets(plain):
    plain.write("a.txt", LINES)
    plain.push()
    for slug in ("one", "two"):
        branch(plain, f"agent/{slug}", {"a.txt": changed(7, slug)})
    branch(plain, "agent/apart", {"b.txt": "x\n"})
    text = plain.cli("conflicts", "--base", "main", code=1).stdout
    (order,) = [line for line in text.splitlines() if line.startswith("suggested order")]
    assert "agent/apart" not in order
    assert {"agent/one", "agent/two"} <= set(order.replace(",", "").split())


def test_landed_by_squash_is_not_open(plain):
    plain.write("a.txt", LINES)
    plain.push()
    for slug in ("one", "two"):
        branch(plain, f"agent/{slug}", {"a.txt": changed(7, slug)})
    plain.git("switch", "-q", "agent/one")
    plain.git("commit", "-q", "--amend", "-m", "one\n\nInterlock-Job: j-one")
    plain.git("switch", "-q", "main")
    assert plain.ask("overlap", "--base", "main")["files"] == {"a.txt": ["agent/one", "agent/two"]}
    plain.git("merge", "-q", "--squash", "agent/one")
    plain.git("commit", "-q", "-m", "one, for a@b\n\nInterlock-Job: j-one")
    assert plain.ask("overlap", "--base", "main")["refs"] == ["agent/two"]
    assert plain.ask("conflicts", "--base", "main", code=1)["changes"] == ["agent/two"]
