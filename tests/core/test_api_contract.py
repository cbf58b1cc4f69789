"""What breaks those who use an interface, and what does not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from interlock.core.gate.api_contract import breaking, contract

DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "paths": {
        "/users/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "get": {
                "parameters": [
                    {"name": "sort", "in": "query", "schema": {"type": "string", "enum": ["name", "age"]}},
                    {"name": "limit", "in": "query", "schema": {"type": "number", "maximum": 100}},
                ],
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/User"}}}},
                    "404": {"description": "none"},
                },
            },
            "put": {
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Change"}}}},
                "responses": {"204": {"description": "done"}},
            },
        },
        "/health": {"get": {"responses": {"200": {"description": "up"}}}},
    },
    "components": {
        "schemas": {
            "User": {
                "type": "object",
                "required": ["id", "kind"],
                "properties": {
                    "id": {"type": "integer"},
                    "kind": {"type": "string", "enum": ["guest", "member"]},
                    "friends": {"type": "array", "items": {"$ref": "#/components/schemas/User"}},
                    "note": {"type": "string", "nullable": True},
                },
            },
            "Change": {
                "allOf": [
                    {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
                    {"properties": {"age": {"type": "integer"}}},
                ]
            },
        }
    },
}


def changed(change: Callable[[dict[str, Any]], object]) -> tuple[str, ...]:
    after = copy.deepcopy(DOCUMENT)
    change(after)
    return breaking(contract(DOCUMENT), contract(after))


def get(doc: dict[str, Any]) -> dict[str, Any]:
    return doc["paths"]["/users/{id}"]["get"]  # type: ignore[no-any-return]


def put(doc: dict[str, Any]) -> dict[str, Any]:
    return doc["paths"]["/users/{id}"]["put"]  # type: ignore[no-any-return]


def user(doc: dict[str, Any]) -> dict[str, Any]:
    return doc["components"]["schemas"]["User"]  # type: ignore[no-any-return]


def asked(doc: dict[str, Any]) -> dict[str, Any]:
    return doc["components"]["schemas"]["Change"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda d: d["paths"].pop("/health"), "GET /health: removed"),
        (lambda d: d["paths"]["/users/{id}"].pop("put"), "PUT /users/{}: removed"),
        (lambda d: get(d)["responses"].pop("404"), "GET /users/{} < 404: removed"),
        (lambda d: user(d)["properties"].pop("note"), "GET /users/{} < 200 application/json .note: removed"),
        (
            lambda d: user(d)["required"].remove("id"),
            "GET /users/{} < 200 application/json .id: no longer always there",
        ),
        (lambda d: user(d)["properties"]["kind"]["enum"].remove("guest"), '.kind: value "guest" removed'),
        (lambda d: user(d)["properties"]["id"].update(type="string"), ".id: type integer became string"),
        (lambda d: user(d)["properties"]["id"].update(nullable=True), ".id: type integer became integer or null"),
        (lambda d: get(d)["parameters"][0].update(required=True), "? query sort: required now"),
        (
            lambda d: get(d)["parameters"].append({"name": "key", "in": "query", "required": True}),
            "? query key: required now, and callers do not send it",
        ),
        (lambda d: get(d)["parameters"][0]["schema"]["enum"].pop(), '? query sort: value "age" removed'),
        (lambda d: get(d)["parameters"][1]["schema"].update(type="integer"), "limit: type number became integer"),
        (lambda d: get(d)["parameters"][1]["schema"].update(maximum=50), "limit: maximum is 50 now and was 100"),
        (lambda d: get(d)["parameters"][1]["schema"].update(minimum=1), "limit: minimum is 1 now"),
        (lambda d: put(d)["requestBody"].update(required=True), "PUT /users/{} > body: required now"),
        (lambda d: asked(d)["allOf"][0]["required"].append("age"), ".age: required now"),
        (
            lambda d: put(d)["requestBody"]["content"].update(
                {"application/json": {"schema": {"type": "object", "required": ["x"], "properties": {"x": {}}}}}
            ),
            ".x: required now, and callers do not send it",
        ),
        (
            lambda d: put(d)["requestBody"].update(content={"text/xml": {}}),
            "PUT /users/{} > application/json: no longer accepted",
        ),
    ],
)
def test_what_breaks(change: Callable[[dict[str, Any]], object], found: str) -> None:
    broken = changed(change)
    assert any(found in each for each in broken), broken


@pytest.mark.parametrize(
    "change",
    [
        lambda _: None,
        lambda d: d["paths"].update({"/new": {"post": {"requestBody": {"required": True}, "responses": {"200": {}}}}}),
        lambda d: d["paths"].update({"/users/{user}": d["paths"].pop("/users/{id}")}),
        lambda d: get(d)["parameters"].append({"name": "page", "in": "query"}),
        lambda d: get(d)["parameters"].pop(),
        lambda d: get(d)["parameters"][0]["schema"]["enum"].append("city"),
        lambda d: get(d)["parameters"][1]["schema"].update(maximum=200),
        lambda d: user(d)["properties"].update(extra={"type": "string"}),
        lambda d: user(d)["required"].append("note"),
        lambda d: user(d)["properties"]["id"].update(format="int64"),
        lambda d: user(d)["properties"]["note"].pop("nullable"),
        lambda d: asked(d)["allOf"][0]["required"].clear(),
        lambda d: asked(d)["allOf"][1]["properties"]["age"].update(type="number"),
        lambda d: asked(d)["allOf"][1]["properties"].pop("age"),
        lambda d: get(d)["responses"].update({"429": {"description": "slow down"}}),
        lambda d: d.update(info={"title": "Other"}, openapi="3.1.0"),
    ],
)
def test_what_does_not(change: Callable[[dict[str, Any]], object]) -> None:
    assert changed(change) == ()


def test_schemas_that_hold_themselves_are_read() -> None:
    facts = contract(DOCUMENT)
    assert "GET /users/{} < 200 application/json .friends []" in facts
    assert len(facts) < 40
