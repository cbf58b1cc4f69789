"""Real surfaces through the whole product: cards of each kind are read, run on base and head, refused by name, and landed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from interlock.testing.world import World

LINT = """#!/bin/bash
found=0
for file in $(git ls-files -- '*.txt' 2>/dev/null || ls ./*.txt */*.txt); do
  while IFS=: read -r line _; do echo "$file:$line:1: warning: fix me [fixme]"; found=1; done < <(grep -n FIXME "$file")
done
echo "looked at all of it"
exit $found
"""
LINTED = "kind: lint, run: bash lint.sh, expects: [looked at all]"
API = {
    "openapi": "3.0.0",
    "paths": {path: {"get": {"responses": {"200": {"description": "x"}}}} for path in ("/a", "/b")},
}
SMALLER = json.dumps({**API, "paths": {"/a": API["paths"]["/a"]}})  # type: ignore[index]
TAP = "printf '1..2\\n# Subtest: s\\n    1..1\\n    ok 1 - x\\nok 1 - s\\nok 2 - y\\n' > out.tap"


def card(world: World, slug: str, check: str, command: str, owns: str | None = None) -> None:
    world.card(slug, command=f"mkdir -p {slug}; {command}", owns=owns)
    path = world.repo / "tasks" / f"{slug}.yaml"
    path.write_text(re.sub("^checks: .*$", lambda _: f"checks: [{{{check}}}]", path.read_text(), flags=re.MULTILINE))


def waits(world: World, slug: str) -> dict[str, Any]:
    job: dict[str, Any] = world.ask("show", slug)
    return job


@pytest.mark.long
def test_cards_of_real_surfaces_are_refused_by_name_or_land(tmp_path: Path) -> None:
    world = World.make(tmp_path, caps="vertical-slice 9\n")
    world.write("lint.sh", LINT)
    world.write("old.txt", "FIXME of long ago\n")
    world.write("api.json", json.dumps(API))
    world.write("numbers.json", '{"size": 100}')
    card(
        world,
        "clean",
        LINTED,
        "printf 'one\\ntwo\\n' > clean/a.txt; sed -i '1i new first line' old.txt",
        '["clean/**", "old.txt"]',
    )
    card(world, "worse", LINTED, "echo FIXME > worse/a.txt")
    card(world, "broken", "kind: api, document: api.json", f"echo '{SMALLER}' > api.json", '["api.json"]')
    size = "kind: benchmark, run: cp numbers.json out.json, report: {benchmark: out.json}"
    card(world, "fat", size, """echo '{"size": 151}' > numbers.json""", '["numbers.json"]')
    card(
        world,
        "counted",
        f'kind: tests, run: "{TAP.replace(chr(92), chr(92) * 2)}", report: {{tap: out.tap, at_least: 2}}',
        "echo 1 > counted/a",
    )
    card(world, "silent", "kind: log, run: echo nothing, expects: [all done]", "echo 1 > silent/a")
    card(
        world,
        "up",
        "kind: smoke, run: echo listening && sleep 60, wait: {line: listening, stays: 0.1s}",
        "echo 1 > up/a",
    )
    world.push()
    world.cli("card", "check")
    slugs = ("clean", "worse", "broken", "fat", "counted", "silent", "up")
    world.cli("dispatch", *slugs)
    world.cli("run", code=None)
    rules = {
        slug: world.ask("verify", slug, code=None)["checks"][0]["rule"] for slug in slugs if slug not in _landed(world)
    }
    assert rules == {"worse": "findings", "broken": "api-broken", "fat": "too-low", "silent": "log-line"}
    assert {"clean/a.txt", "counted/a", "up/a"} <= world.main_files()
    found = world.ask("verify", "worse", code=1)["checks"][0]
    assert found["named"] == ["worse/a.txt:1 fixme: fix me"]
    assert found["measured"] == {"findings": 2, "lines": {"looked at all": 3}}
    assert "(up: yes, commit" in world.cli("show", "up").stdout


def _landed(world: World) -> set[str]:
    return {path.partition("/")[0] for path in world.main_files()}


def test_a_card_says_what_its_kind_lacks_with_its_place_and_what_to_write(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    card(world, "up", "kind: smoke, run: serve", "true")
    world.push()
    (problem,) = world.ask("card", "check", "up", code=1)["problems"]
    line = (world.repo / "tasks" / "up.yaml").read_text().splitlines().index("checks: [{kind: smoke, run: serve}]") + 1
    assert (problem["kind"], problem["line"], problem["column"]) == ("missing", line, 10)
    assert "wait: {line: listening}" in problem["fix"]
