"""The JSON Schemas in schema/ are what the core says now, and name the keys that the readers take."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from interlock.adapters.files import agents, cards, classes, loop, policy, routes, shared, surroundings
from interlock.adapters.files.not_built import LATER
from interlock.core.job.evidence import CheckRun, Evidence, TestReport, Verdict
from interlock.core.job.kinds import KINDS
from interlock.core.job.lifecycle import TRANSITIONS
from interlock.core.job.statement import statement
from interlock.core.merge.train import _APPLIED

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tools_schema", ROOT / "tools" / "schema.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_files_are_not_stale(tool: ModuleType) -> None:
    assert tool.stale() == [], "run make docs"


def test_a_stale_or_missing_file_is_named(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "FOLDER", tmp_path / "schema")
    assert tool.main(["--check"]) == 1
    assert tool.main([]) == 0
    assert tool.main(["--check"]) == 0
    path = tmp_path / "schema" / "card.json"
    path.write_text(path.read_text("utf-8").replace("variants", "variant"), "utf-8")
    assert tool.stale() == ["card.json"]


def test_the_schemas_name_the_keys_that_the_readers_take() -> None:
    card = json.loads((ROOT / "schema" / "card.json").read_text("utf-8"))
    assert set(card["properties"]) == cards._CARD.keys()
    assert set(card["$defs"]["Needs"]["properties"]) == set(cards._NEEDS)
    assert set(card["$defs"]["Budget"]["properties"]) == set(shared.BUDGET)
    assert set(card["$defs"]["LoopGate"]["properties"]) == set(loop._GATE)
    assert set(card["$defs"]["Loop"]["properties"]) == set(loop._LOOP_KEYS)
    assert set(card["$defs"]["Check"]["anyOf"][1]["properties"]) == set(shared.CHECK)
    made = json.loads((ROOT / "schema" / "policy.json").read_text("utf-8"))
    assert set(made["properties"]) == policy._POLICY.keys() - set(LATER)
    assert set(made["$defs"]["TaskClass"]["properties"]) == set(classes.CLASS)
    assert set(made["$defs"]["Database"]["properties"]) == set(surroundings._DATABASE)
    assert set(made["$defs"]["Models"]["properties"]) == set(agents._MODEL)
    assert set(made["$defs"]["Price"]["properties"]) == set(agents._PRICE)
    assert set(made["$defs"]["Login"]["properties"]) == set(agents._LOGIN)
    assert set(made["$defs"]["Rules"]["properties"]) == set(agents._RULES)
    assert set(made["$defs"]["Route"]["properties"]) == set(routes._ROUTE)
    assert set(made["$defs"]["Spend"]["properties"]) == set(shared.SPEND)


def test_the_schema_of_evidence_names_what_a_statement_says() -> None:
    schema = json.loads((ROOT / "schema" / "evidence.json").read_text("utf-8"))
    run = CheckRun(run="true", exit_code=0, seconds=0.0, log="l", tail="", report=TestReport(cases={"t": "passed"}))
    row = Evidence(
        subject="j",
        attempt=1,
        commit="c",
        tree="t",
        base="b",
        card_oid="o",
        policy_digest="p",
        place="fresh",
        level="sealed",
        same_user=False,
        verdicts=(Verdict(run=run, state="passed"),),
    )
    made = statement(row, number=1, at=1.0, record="r")
    del made["predicate"]["configuration"], schema["properties"]["predicate"]["properties"]["configuration"]
    assert _named(schema) == _said(made)


def _named(schema: Any) -> Any:
    """The keys of a schema, and what stands below each."""
    if "anyOf" in schema:
        return _named(schema["anyOf"][-1])
    if schema.get("properties"):
        return {name: _named(part) for name, part in schema["properties"].items()}
    return _named(schema["items"]) if schema.get("items") else None


def _said(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _said(part) for name, part in value.items()} or None
    if isinstance(value, list):
        return _said(value[0]) if value else None
    return None


def test_every_kind_of_event_that_the_code_names_is_known_and_each_known_one_is_named() -> None:
    """A kind is written as a text, or made of one of the words that stand beside it."""
    source = "\n".join(
        path.read_text("utf-8") for path in (ROOT / "src/interlock").rglob("*.py") if path.stem != "kinds"
    )
    named = set(re.findall(r'"((?:job|attempt|train|class|caps|key|evidence|cache)\.[a-z-]+)"', source))
    named -= {"job.id", "train.number", "evidence.id", "evidence.pem", "key.pem"}  # columns and files
    assert named - KINDS.keys() == set()
    built = {"job.reverted", "job.restored", "attempt.worked", "attempt.phased", "attempt.interrupted", "attempt.ended"}
    assert KINDS.keys() - named - built == set()
    assert TRANSITIONS.keys() | {"job.admitted"} | _APPLIED.keys() <= KINDS.keys()
    event = json.loads((ROOT / "schema" / "event.json").read_text("utf-8"))
    assert event["properties"]["kind"]["enum"] == sorted(KINDS)
