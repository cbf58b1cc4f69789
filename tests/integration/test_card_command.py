"""``interlock card`` on real repositories: where it reads from, what it answers, what it writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.testing.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World.make(tmp_path / "w")
    made.write("src/a.ts", "a\n")
    return made


def test_cards_are_read_from_the_default_branch_and_it_says_so(world: World) -> None:
    world.card("pushed")
    commit = world.push()
    world.card("at-hand", owns="[pushed/x]")
    answer = world.ask("card", "check")
    assert answer == {
        "ready": True,
        "problems": [
            {
                "slug": "pushed",
                "kind": "weak-check",
                "what": 'The check "true" can pass although what it runs fails.',
                "why": "It runs nothing that can fail.",
                "fix": "Name the command that proves the work, such as the tests.",
                "file": "tasks/pushed.yaml",
                "line": 7,
                "column": 10,
                "blocks": False,
            }
        ],
        "overlaps": [],
        "order": ["pushed"],
        "source": f"origin/main@{commit}",
        "skipped": [],
        "abandoned": [],
    }
    here = world.ask("card", "check", "--here", code=1)
    assert here["source"] == "the files at hand"
    assert [(row["a"], row["b"], row["kind"], row["path"]) for row in here["overlaps"]] == [
        ("at-hand", "pushed", "write-write", "pushed/x")
    ]
    assert here["order"] == ["at-hand", "pushed"]
    assert "read from the files at hand" in world.cli("card", "check", "--here", code=1).stdout


def test_a_commit_that_others_pushed_is_seen(world: World, tmp_path: Path) -> None:
    world.push()
    other = tmp_path / "other"
    world.git("clone", "-q", str(world.remote), str(other), at=tmp_path)
    (other / "tasks" / "late.yaml").write_text("slug: late\nclass: tests\n", encoding="utf-8")
    world.git("add", "-A", at=other)
    world.git("commit", "-qm", "late", at=other)
    world.git("push", "-q", at=other)
    answer = world.ask("card", "check", "late", code=1)
    assert {each["kind"] for each in answer["problems"]} == {"missing", "no-check", "no-stop-rule", "owner"}


def test_every_reason_of_a_card_that_cannot_even_be_read_is_told(world: World) -> None:
    world.write(
        "tasks/bad.yaml", "slug: bad\nclass: tests\nchecks: npm test\nowned_paths: [/src]\nintegration_owner: TBD\n"
    )
    world.push()
    answer = world.ask("card", "check", code=1)
    assert [(each["kind"], each["line"], each["column"]) for each in answer["problems"]] == [
        ("missing", 1, 1),
        ("no-stop-rule", 1, 1),
        ("shape", 3, 9),
        ("path", 4, 15),
        ("owner", 5, 20),
    ]
    text = world.cli("card", "check", code=1).stdout
    assert "tasks/bad.yaml:3:9: checks is not a list. [shape]" in text
    assert 'fix: Write checks: ["npm test"].' in text
    assert text.splitlines()[-1] == "next: interlock card check"


@pytest.mark.long
def test_a_plan_has_to_be_on_the_base_or_at_hand_with_here(world: World) -> None:
    world.card("a", extra="accepted_plan: docs/plan.md\n")
    world.push()
    assert [each["kind"] for each in world.ask("card", "check", code=1)["problems"] if each["blocks"]] == ["plan"]
    world.write("docs/plan.md", "plan\n")
    assert world.ask("card", "check", code=1)["ready"] is False
    assert world.ask("card", "check", "--here")["ready"] is True


def test_named_cards_are_judged_among_all_and_answered_alone(world: World) -> None:
    world.card("a", owns="[lib/**]")
    world.card("b", owns="[lib/x]", needs="[m]")
    world.card("m", needs="[a]")
    world.card("z", owns="[lib/**]")
    world.push()
    assert world.ask("card", "check", "b", "a")["order"] == ["a", "b"]
    assert len(world.ask("card", "check", code=1)["overlaps"]) == 2


def test_a_card_that_is_not_there_is_told(world: World) -> None:
    world.push()
    answer = world.ask("card", "check", "gone", "../x", code=1)
    assert [(each["slug"], each["kind"]) for each in answer["problems"]] == [("../x", "slug"), ("gone", "unknown-card")]


def test_a_policy_that_cannot_be_read_is_told_beside_the_cards(world: World) -> None:
    world.card("a")
    world.write("interlock.yaml", "trian: {}\n")
    world.push()
    answer = world.ask("card", "check", code=1)
    assert [(each["slug"], each["kind"]) for each in answer["problems"] if each["blocks"]] == [(None, "unknown-key")]


@pytest.mark.long
def test_the_graph_shows_waves_circles_and_unknown_needs(world: World) -> None:
    world.card("a")
    world.card("b", needs="[a]")
    world.card("c", needs="[d]")
    world.card("d", needs="[c]")
    world.card("e", needs="[gone]")
    world.push()
    answer = world.ask("card", "graph", code=1)
    assert {node["slug"]: node["wave"] for node in answer["nodes"]} == {"a": 1, "b": 2, "c": None, "d": None, "e": None}
    assert answer["edges"][0] == {"from": "a", "to": "b"}
    assert answer["cycles"] == [["c", "d"]]
    assert answer["unknown"] == [{"slug": "e", "needs": "gone"}]
    assert answer["order"] == ["a", "b"]
    assert "circle: c -> d -> c" in world.cli("card", "graph", code=1).stdout


def test_pg_01_explain_names_the_pattern_that_decides(world: World) -> None:
    world.card("a", owns="[docs/*]", reads="[docs/ro.md]")
    world.push()
    answer = world.ask("card", "explain", "a", "docs/a.md", "docs/x/b.md", "docs/ro.md", "tasks/a.yaml", code=1)
    assert [(item["path"], item["rule"], item["pattern"]) for item in answer["paths"]] == [
        ("docs/a.md", None, "docs/*"),
        ("docs/x/b.md", "outside", None),
        ("docs/ro.md", "read-only", "docs/ro.md"),
        ("tasks/a.yaml", "protected", "tasks/**"),
    ]
    assert world.cli("card", "explain", "a", "docs/a.md").stdout.startswith("docs/a.md: in scope.")


# ---------------------------------------------------------------- new
def test_a_new_card_is_ready_once_its_three_blanks_are_filled(world: World) -> None:
    world.push()
    assert world.ask("card", "new", "pay", "--class", "vertical-slice") == {
        "slug": "pay",
        "file": "tasks/pay.yaml",
        "blanks": 3,
    }
    path = world.repo / "tasks" / "pay.yaml"
    text = path.read_text(encoding="utf-8")
    assert text.count("# FILL IN:") == 3
    found = world.ask("card", "check", "pay", "--here", code=1)
    assert [each["kind"] for each in found["problems"]] == ["missing", "missing", "no-check"]
    filled = text.replace('goal: ""', "goal: Pay by card.").replace("owned_paths: []", "owned_paths: [src/pay/**]")
    path.write_text(filled.replace("checks: []", "checks: [npm test]"), encoding="utf-8")
    assert world.ask("card", "check", "pay", "--here")["ready"] is True


def test_a_new_card_with_all_given_is_ready_at_once(world: World) -> None:
    world.push()
    words = ["--class", "bug-fix", "--goal", 'Say "no": # not yes', "--owns", "src/pay/**", "--owns", "app/[id]/**"]
    words += ["--check", "npm test -- 'a: b'", "--done", "it: works", "--owner", "@ana"]
    done = world.cli("card", "new", "pay", *words)
    assert done.stdout.splitlines()[-1].startswith("next: git add tasks/pay.yaml && git commit")
    answer = world.ask("card", "check", "pay", "--here")
    assert (answer["ready"], answer["problems"]) == (True, [])


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("Bad Slug", "--class", "tests"), 1),
        (("a" * 42, "--class", "tests"), 1),
        (("ok", "--class", "testz"), 2),
        (("ok", "--class", "tests", "--owns", "/abs"), 1),
        (("ok", "--class", "tests", "--owns", "{a,b}"), 1),
        (("ok",), 2),
        (("../x", "--class", "tests"), 1),
    ],
)
def test_what_could_not_be_used_is_refused_and_nothing_is_written(
    world: World, words: tuple[str, ...], code: int
) -> None:
    world.push()
    before = sorted(world.repo.rglob("*.yaml"))
    world.cli("card", "new", *words, code=code)
    assert sorted(world.repo.rglob("*.yaml")) == before


def test_a_card_that_is_there_is_never_overwritten(world: World) -> None:
    world.card("pay")
    world.push()
    before = (world.repo / "tasks/pay.yaml").read_bytes()
    done = world.cli("card", "new", "pay", "--class", "tests", "--json", code=1)
    assert '"code": "name-taken"' in done.stdout
    assert (world.repo / "tasks/pay.yaml").read_bytes() == before


@pytest.mark.long
def test_what_has_landed_is_skipped_and_overlaps_with_nothing(world: World) -> None:
    world.card("a", owns="[lib/**]", command="mkdir -p lib && echo x > lib/x")
    world.push()
    world.cli("dispatch", "a")
    world.cli("run")
    assert "lib/x" in world.main_files()
    world.git("pull", "-q", "origin", "main")
    world.card("b", owns="[lib/**]", needs="[a]")
    world.card("c", owns="[lib/y]", needs="[b]")
    world.push("more")
    answer = world.ask("card", "check")
    assert (answer["ready"], answer["order"], answer["skipped"]) == (True, ["b", "c"], ["a"])
