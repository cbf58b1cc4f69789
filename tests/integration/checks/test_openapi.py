"""OpenAPI documents: hostile or half ones refused, JSON and YAML read alike."""

from __future__ import annotations

import json

import pytest

from interlock.adapters.checks import openapi
from interlock.adapters.checks.faults import BadReport

PLAIN = {"openapi": "3.0.3", "paths": {"/users/{id}": {"get": {"responses": {"200": {"description": "one"}}}}}}
LOOP = {"openapi": "3.1.0", "paths": {"/a": {"$ref": "#/paths/~1a"}}}
SCHEMAS = {f"S{n}": {"allOf": [{"$ref": f"#/components/schemas/S{n + 1}"}] * 4} for n in range(30)}
BOMB = {
    "openapi": "3.0.0",
    "paths": {
        "/a": {"get": {"responses": {"200": {"content": {"a/b": {"schema": {"$ref": "#/components/schemas/S0"}}}}}}}
    },
    "components": {"schemas": {**SCHEMAS, "S30": {"type": "string"}}},
}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b"{", "not JSON"),
        (b"a: [", "not YAML"),
        (b"a: 1", "openapi: 3"),
        (b'{"swagger": "2.0", "paths": {"/a": {}}}', "openapi: 3"),
        (b'{"openapi": "3.0.0", "paths": {}}', "no path"),
        (b'{"openapi": "3.0.0", "paths": {"/a": {}}}', "no operation"),
        (b"x: &a [1]\ny: *a\n", "alias"),
        (b"[" * 100_000, "nesting"),
        (b"[" * 100, "nested"),
        (b'{"a":' * 100_000, "nested|JSON"),
        (json.dumps(LOOP).encode(), "leads to itself"),
        (json.dumps(BOMB).encode(), "parts"),
        (
            json.dumps(PLAIN).replace('{"description": "one"}', '{"$ref": "other.yaml#/x"}').encode(),
            "out of the document",
        ),
        (json.dumps(PLAIN).replace('{"description": "one"}', '{"$ref": "#/nowhere"}').encode(), "nowhere"),
        (json.dumps(PLAIN).replace('{"description": "one"}', "7").encode(), "no mapping"),
        (b"!!python/object/apply:os.system ['true']", "YAML|openapi"),
    ],
)
def test_what_is_no_interface_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(BadReport, match=why):
        openapi.parse(data)


def test_json_and_yaml_say_the_same() -> None:
    text = "openapi: 3.0.3\npaths:\n  /users/{user}:\n    get:\n      responses:\n        200: {description: one}\n"
    assert openapi.parse(text.encode()) == openapi.parse(json.dumps(PLAIN).encode())
    assert set(openapi.parse(text.encode())) == {"GET /users/{}", "GET /users/{} < 200"}
