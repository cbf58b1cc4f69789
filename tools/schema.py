"""Write the JSON Schemas of cards, policies, events and evidence into schema/ from the core's types; ``--check`` only compares."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from interlock.core.contract.card import Card
from interlock.core.contract.policy import Policy
from interlock.core.job.events import Event
from interlock.core.job.kinds import KINDS
from interlock.core.job.statement import TEST_RESULT, TYPE, VERSION

FOLDER: Final = Path(__file__).resolve().parent.parent / "schema"
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]

# What a file may say differently from the type that it becomes: units as people write them, short forms, names as keys.
_DURATION: Final[Schema] = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string", "pattern": r"^(?=.)(\d+d)?(\d+h)?(\d+m)?(\d+(\.\d+)?s)?$"},
    ],
    "description": "Seconds, or 90s, 10m, 1h30m.",
}
_COUNT: Final[Schema] = {
    "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": r"^\d+(\.\d+)?[kKmM]$"}],
    "description": "A number, or 400k, 1.5M.",
}
_UNITS: Final = {
    **dict.fromkeys(("timeout", "wall", "idle", "startup", "keep", "every", "p95", "stalled"), _DURATION),
    **dict.fromkeys(("tokens", "disk", "most_bytes"), _COUNT),
}
_NAMED: Final = (
    ("classes", "TaskClass", "name"),
    ("databases", "Database", "name"),
    ("services", "Service", "name"),
    ("browsers", "Browser", "role"),
    ("secrets", "Secret", "name"),
    ("approvals", "ApprovalRule", "name"),
    ("models", "Models", "name"),
    ("logins", "Login", "agent"),
)
"""Keys of a policy whose entries are named by their key: the part, and the field that the key becomes."""

_TARGET: Final[Schema] = {"anyOf": [{"type": "number"}, *_DURATION["anyOf"][1:]]}


def card_schema() -> Schema:
    """tasks/<slug>.yaml."""
    schema = _file_schema(TypeAdapter(Card).json_schema(), "Task card")
    properties = schema["properties"]
    schema["properties"] = {"slug": properties.pop("slug"), "class": properties.pop("class_name"), **properties}
    schema["properties"]["slug"]["pattern"] = "^[a-z0-9][a-z0-9-]{0,40}$"
    schema["properties"]["reproduces"] = {"anyOf": [{"type": "string"}, schema["properties"]["reproduces"]]}
    _budget(schema["$defs"])
    _loop(schema["$defs"])
    schema["required"] = ["slug", "class", "owned_paths", "checks", "stop_when", "integration_owner"]
    schema["anyOf"] = [{"required": ["accepted_plan"]}, {"required": ["goal", "done_when"]}]
    return schema


def policy_schema() -> Schema:
    """interlock.yaml."""
    schema = _file_schema(TypeAdapter(Policy).json_schema(), "Policy")
    properties, parts = schema["properties"], schema["$defs"]
    for name in ("warnings", "agents"):
        del properties[name]
    for key, part, name in _NAMED:
        del parts[part]["properties"][name]
        if required := [each for each in parts[part].pop("required", []) if each != name]:
            parts[part]["required"] = required
        properties[key] = {"type": "object", "additionalProperties": {"$ref": f"#/$defs/{part}"}}
    parts["TaskClass"].pop("required", None)
    _budget(parts)
    _agents(properties, parts)
    parts["Ready"]["properties"]["within"] = {**_DURATION}
    del parts["Template"]
    properties["templates"] = {"type": "object", "additionalProperties": {"type": "string"}}
    host = parts["Host"]
    host["properties"]["host"] = host["properties"].pop("name")
    host["required"] = ["host"]
    parts["Host"] = {"anyOf": [{"type": "string", "minLength": 1}, host]}
    parts["Dependency"]["required"] = ["use"]
    port = {"type": "integer", "minimum": 1, "maximum": 65_535}
    properties["ports"] = {
        "type": "object",
        "propertyNames": {"pattern": "^[A-Z_][A-Z0-9_]*$"},
        "additionalProperties": port,
    }
    properties["targets"] = {"type": "object", "additionalProperties": _TARGET}
    keys: Schema = {"type": "array", "items": {"type": "string", "pattern": "^[0-9a-f]{64}$"}, "minItems": 1}
    parts["EvidenceRules"]["properties"]["keys"] = keys
    return schema


def _surfaces(parts: dict[str, Any]) -> Schema:
    """A check's limits are named by their key, pictures may be paths alone, and shares are written in percent."""
    check: Schema = parts["Check"]
    percent = {
        "anyOf": [{"type": "number", "minimum": 0, "maximum": 100}, {"type": "string", "pattern": r"^[\d.]+ *%$"}]
    }
    for name in ("at_least", "each", "drop"):
        parts["CoverageLimits"]["properties"][name] = {**percent}
    parts["Picture"]["properties"]["tolerance"] = {**percent}
    limit = parts["Limit"]
    del limit["properties"]["name"], limit["required"]
    keys = check["properties"]
    keys["limits"] = {"type": "object", "additionalProperties": {"$ref": "#/$defs/Limit"}}
    keys["pictures"]["items"] = {"anyOf": [{"type": "string", "minLength": 1}, {"$ref": "#/$defs/Picture"}]}
    parts["Wait"]["properties"]["stays"] = {**_DURATION}
    del check["required"]
    check["anyOf"] = [
        {"required": ["run"]},
        {"properties": {"kind": {"const": "api"}}, "required": ["kind", "document"]},
    ]
    return check


def _budget(parts: dict[str, Any]) -> None:
    """The limits of one attempt stand below a key of their own."""
    parts["Spend"] = {
        "type": "object",
        "properties": {"tokens": {**_COUNT}, "usd": {"type": "number", "exclusiveMinimum": 0}},
        "additionalProperties": False,
    }
    limits = parts["Budget"]["properties"]
    for name in ("attempt_tokens", "attempt_usd"):
        del limits[name]
    limits["attempt"] = {"$ref": "#/$defs/Spend"}


def _loop(parts: dict[str, Any]) -> None:
    """A gate is named by its command's key, and the limits of a loop stand below one."""
    gate, loop = parts["LoopGate"], parts["Loop"]
    for name in ("kind", "run"):
        del gate["properties"][name]
    commands = {name: {"type": "string", "minLength": 1} for name in ("reproduce", "benchmark")}
    gate["properties"] = {**commands, **gate["properties"]}
    del gate["required"]
    gate["oneOf"] = [{"required": ["reproduce"]}, {"required": ["benchmark", "name", "p95"]}]
    limits = {name: loop["properties"].pop(name) for name in ("rounds", "wall")}
    loop["properties"]["limits"] = {"type": "object", "properties": limits, "additionalProperties": False}


def _agents(properties: dict[str, Any], parts: dict[str, Any]) -> None:
    """Vendors that are known need no address, prices and tiers are named by their key, routes take one word or many."""
    del parts["Models"]["required"]
    del parts["ModelPrice"]
    properties["prices"] = {"type": "object", "additionalProperties": {"$ref": "#/$defs/Price"}}
    tier = parts.pop("TierOf")["properties"]
    means = {"type": "object", "properties": {name: tier[name] for name in ("model", "effort")}, "minProperties": 1}
    means["additionalProperties"] = False
    of_agent = {
        "type": "object",
        "properties": dict.fromkeys(tier["tier"]["enum"], means),
        "additionalProperties": False,
    }
    properties["tiers"] = {"type": "object", "additionalProperties": of_agent}
    route = parts["Route"]["properties"]
    for one, many in (("class", "classes"), ("phase", "phases"), ("risk", "risks")):
        words = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
        route[one] = route[many] = words


_SHAPES: Final[Mapping[str, Schema]] = {
    "text": {"type": "string"},
    "number": {"type": "integer"},
    "flag": {"type": "boolean"},
    "list": {"type": "array"},
    "mapping": {"type": "object"},
    "text or null": {"type": ["string", "null"]},
}


def event_schema() -> Schema:
    """One event of the history, as ``show --json`` gives it: its kind is one of all, and says what its data holds at least."""
    shape = _tidy(TypeAdapter(Event).json_schema())
    shape["properties"]["kind"] = {"enum": sorted(KINDS)}
    shape["allOf"] = [
        {
            "if": {"properties": {"kind": {"const": kind}}},
            "then": {
                "properties": {
                    "data": {
                        "properties": {key: _SHAPES[what] for key, what in keys.items()},
                        "required": list(keys),
                    }
                }
            },
        }
        for kind, keys in sorted(KINDS.items())
        if keys
    ]
    return {"$schema": DIALECT, **shape, "title": "Event"}


_TEXT: Final[Schema] = {"type": "string"}
_TEXTS: Final[Schema] = {"type": "array", "items": _TEXT}
_TIME: Final[Schema] = {"type": ["string", "null"], "format": "date-time"}
_DIGEST: Final[Schema] = {"type": ["string", "null"], "description": "Hexadecimal; null where none was taken."}
_COUNTS: Final = ("total", "passed", "failed", "errors", "skipped")


def _object(*, closed: bool = False, **properties: Schema) -> Schema:
    """An object with these keys, all of which are there."""
    shape: Schema = {"type": "object", "properties": properties, "required": list(properties)}
    return shape | ({"additionalProperties": False} if closed else {})


def evidence_schema() -> Schema:
    """The in-toto Statement inside the signed envelope of each row of evidence."""
    whole = {"type": "integer", "minimum": 0}
    check = _object(
        run=_TEXT,
        argv={"type": ["array", "null"], "items": _TEXT},
        state={"enum": ["passed", "refused", "accepted"]},
        rule={"type": ["string", "null"]},
        exit_code={"type": ["integer", "null"]},
        started=_TIME,
        ended=_TIME,
        counts={"anyOf": [{"type": "null"}, _object(closed=True, **dict.fromkeys(_COUNTS, whole))]},
        log=_object(path=_TEXT, sha256=_DIGEST),
        report=_object(sha256=_DIGEST, files={"type": "object", "additionalProperties": _TEXT}),
        environment=_DIGEST,
        cached={"type": "boolean"},
        flaky=_TEXTS,
    )
    ours = _object(
        version={"const": VERSION},
        number={"type": "integer", "minimum": 1},
        at=_TIME,
        subject={"type": "string", "description": "A job's id, or train:<number>."},
        attempt=whole,
        runner={"type": "string", "description": "The machine that ran and signed."},
        base=_object(closed=True, gitCommit=_DIGEST, gitTree=_DIGEST),
        policy=_DIGEST,
        card=_DIGEST,
        place={"enum": ["fresh", "task"]},
        level=_TEXT,
        same_user={"type": "boolean", "description": "An agent of the same user could have signed it."},
        waived={"type": "object", "additionalProperties": _TEXT},
        grafted=_TEXTS,
        checks={"type": "array", "items": check},
        record={"type": "string", "description": "SHA-256 of the row's document as canonical JSON."},
    )
    named = {
        "type": "object",
        "properties": {"name": _TEXT, "digest": {"type": "object"}},
        "required": ["name", "digest"],
    }
    subject = _object(name=_TEXT, digest=_object(closed=True, gitCommit=_TEXT, gitTree=_TEXT))
    predicate = _object(
        result={"enum": ["PASSED", "WARNED", "FAILED"]}, configuration={"type": "array", "items": named}, interlock=ours
    )
    predicate["properties"] |= dict.fromkeys(("passedTests", "warnedTests", "failedTests"), _TEXTS)
    shape = _object(
        subject={"type": "array", "items": subject, "minItems": 1, "maxItems": 1},
        predicateType={"const": TEST_RESULT},
        predicate=predicate,
    )
    shape["properties"] = {"_type": {"const": TYPE}, **shape["properties"]}
    shape["required"] = list(shape["properties"])
    return {"$schema": DIALECT, **shape, "title": "Evidence"}


def _file_schema(schema: Schema, title: str) -> Schema:
    """The schema of a file that becomes this type: no unknown keys, no nulls, short forms allowed."""
    tidied: Schema = _tidy(schema)
    for part in (tidied, *tidied.get("$defs", {}).values()):
        part["additionalProperties"] = False
        for name, value in part.get("properties", {}).items():
            part["properties"][name] = {**_UNITS[name]} if name in _UNITS else value
    check = _surfaces(tidied["$defs"])
    tidied["$defs"]["Check"] = {"anyOf": [{"type": "string", "minLength": 1}, check]}
    return {"$schema": DIALECT, **tidied, "title": title}


def _tidy(value: Any) -> Any:
    """The same without generated titles, nulls and defaults of null; long lines of docstrings joined."""
    if isinstance(value, list):
        return [_tidy(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "anyOf" in value and {"type": "null"} in value["anyOf"]:
        inner = [item for item in value["anyOf"] if item != {"type": "null"}]
        rest = {key: item for key, item in value.items() if key not in ("anyOf", "default")}
        value = {**rest, **(inner[0] if len(inner) == 1 else {"anyOf": inner})}
    tidied = {key: _tidy(item) for key, item in value.items() if not (key == "title" and isinstance(item, str))}
    if isinstance(tidied.get("description"), str):
        tidied["description"] = " ".join(tidied["description"].split())
    return tidied


SCHEMAS: Final[Mapping[str, Callable[[], Schema]]] = {
    "card.json": card_schema,
    "policy.json": policy_schema,
    "event.json": event_schema,
    "evidence.json": evidence_schema,
}


def text_of(name: str) -> str:
    return json.dumps(SCHEMAS[name](), indent=2, ensure_ascii=False) + "\n"


def stale() -> list[str]:
    """The schemas whose file is missing or differs from what the core says now."""
    return [
        name for name in SCHEMAS if not (FOLDER / name).is_file() or (FOLDER / name).read_text("utf-8") != text_of(name)
    ]


def main(arguments: list[str]) -> int:
    """Write what is stale, or with ``--check`` name it; 1 when something is stale."""
    names = stale()
    if arguments == ["--check"]:
        for name in names:
            print(f"schema/{name} is stale: run make docs.", file=sys.stderr)
        return 1 if names else 0
    FOLDER.mkdir(exist_ok=True)
    for name in names:
        (FOLDER / name).write_text(text_of(name), encoding="utf-8")
        print(f"wrote schema/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
