"""The JSON Schemas in schema/ are what the core says now, and name the keys that the readers take."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from interlock.adapters.files import agents, around, cards, classes, loop, policy, routes, shared
from interlock.adapters.files.later import LATER

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
    assert set(made["$defs"]["Database"]["properties"]) == set(around._DATABASE)
    assert set(made["$defs"]["Models"]["properties"]) == set(agents._MODEL)
    assert set(made["$defs"]["Price"]["properties"]) == set(agents._PRICE)
    assert set(made["$defs"]["Login"]["properties"]) == set(agents._LOGIN)
    assert set(made["$defs"]["Rules"]["properties"]) == set(agents._RULES)
    assert set(made["$defs"]["Route"]["properties"]) == set(routes._ROUTE)
    assert set(made["$defs"]["Spend"]["properties"]) == set(shared.SPEND)
