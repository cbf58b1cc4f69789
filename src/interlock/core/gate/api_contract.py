"""An OpenAPI 3 document as flat facts, and what of a change breaks those who use the interface; reading bytes is the adapters'.

Source of the rules: OpenAPI 3.0/3.1 for the shapes.  What callers send may only become wider, what they get only narrower.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

Contract = Mapping[str, Mapping[str, Any]]
"""Facts by place: ``GET /users/{} < 200 application/json .id`` → ``{"types": ["integer"], ...}``."""

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_PARAMETER: Final = re.compile(r"\{[^{}/]*\}")
_MOST_FACTS: Final = 100_000
_DEEPEST: Final = 24
_LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems")
_UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")
_ANY: Final = ("array", "boolean", "integer", "null", "number", "object", "string")


class BadContract(Exception):
    """A document that cannot be read as an interface; the text is a whole sentence."""


def contract(document: Any) -> Contract:
    """The facts of a parsed OpenAPI 3 document.  Raises BadContract."""
    if not isinstance(document, dict) or not str(document.get("openapi", "")).startswith("3."):
        raise BadContract("The document does not say openapi: 3.")
    paths = document.get("paths")
    if not isinstance(paths, dict) or not paths:
        raise BadContract("The document describes no path.")
    return _Flattener(document).run(paths)


class _Flattener:
    """One document being laid flat; every step is counted, so that references that multiply come to an end."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._facts: dict[str, Mapping[str, Any]] = {}
        self._steps = 0

    def run(self, paths: Mapping[str, Any]) -> Contract:
        for path, item in paths.items():
            shared = self._one(item)
            for method in _METHODS:
                if method in shared:
                    name = f"{method.upper()} {_PARAMETER.sub('{}', str(path))}"
                    self._operation(name, self._one(shared[method]), shared)
        if not self._facts:
            raise BadContract("The document describes no operation.")
        return self._facts

    def _operation(self, name: str, operation: Mapping[str, Any], item: Mapping[str, Any]) -> None:
        self._put(name, {})
        parameters = {}
        for listed in (item.get("parameters"), operation.get("parameters")):
            for each in listed if isinstance(listed, list) else ():
                parameter = self._one(each)
                where = str(parameter.get("in", ""))
                # A parameter of the path is known by its place: its name may change without anybody noticing.
                called = "" if where == "path" else str(parameter.get("name", ""))
                parameters[where, called if where != "header" else called.lower()] = parameter
        for (where, called), parameter in parameters.items():
            if where == "path":
                continue
            place = f"{name} ? {where} {called}"
            self._put(place, {"required": parameter.get("required") is True})
            self._schema(place, parameter.get("schema"), ())
        if "requestBody" in operation:
            body = self._one(operation["requestBody"])
            self._put(f"{name} > body", {"required": body.get("required") is True})
            self._content(f"{name} >", body)
        responses = operation.get("responses")
        for status, response in responses.items() if isinstance(responses, dict) else ():
            self._put(f"{name} < {status}", {})
            self._content(f"{name} < {status}", self._one(response))

    def _content(self, place: str, holder: Mapping[str, Any]) -> None:
        content = holder.get("content")
        for media, inner in content.items() if isinstance(content, dict) else ():
            at = f"{place} {str(media).partition(';')[0].strip().lower()}"
            self._put(at, {"media": True})
            self._schema(at, self._one(inner).get("schema"), ())

    def _schema(self, place: str, schema: Any, chain: tuple[str, ...]) -> None:
        """A schema and all below it; a reference that comes back to itself ends there."""
        if schema is None or isinstance(schema, bool) or len(chain) > _DEEPEST:
            return
        merged, chain = self._merged(schema, chain)
        facts = {**self._facts.get(place, {}), "types": _types(merged)}
        if isinstance(merged.get("enum"), list):
            facts["enum"] = sorted({json.dumps(value, sort_keys=True, default=str) for value in merged["enum"]})
        bounds = {name: merged[name] for name in (*_LOWER, *_UPPER) if _is_number(merged.get(name))}
        self._put(place, {**facts, **({"bounds": bounds} if bounds else {})})
        required = merged.get("required")
        names = set(map(str, required)) if isinstance(required, list) else set()
        properties = merged.get("properties")
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            self._put(f"{place} .{name}", {"required": str(name) in names})
            self._schema(f"{place} .{name}", inner, (*chain, "."))
        if isinstance(merged.get("items"), dict):
            self._schema(f"{place} []", merged["items"], (*chain, "[]"))
        if isinstance(merged.get("additionalProperties"), dict):
            self._schema(f"{place} .*", merged["additionalProperties"], (*chain, ".*"))
        for kind in ("oneOf", "anyOf"):
            for number, inner in enumerate(merged[kind] if isinstance(merged.get(kind), list) else ()):
                at = f"{place} {kind}:{_name_of(inner, number)}"
                self._put(at, {"choice": True})
                self._schema(at, inner, (*chain, kind))

    def _merged(self, schema: Any, chain: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """A schema with its reference followed and its ``allOf`` taken together."""
        self._count()
        if not isinstance(schema, dict):
            raise BadContract("A schema of the document is no mapping.")
        if "$ref" in schema:
            name = str(schema["$ref"])
            if name in chain:
                return {}, chain
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            base, chain = self._merged(self._follow(name), (*chain, name))
            return {**base, **beside}, chain
        merged = {key: value for key, value in schema.items() if key != "allOf"}
        for part in schema["allOf"] if isinstance(schema.get("allOf"), list) else ():
            inner, _ = self._merged(part, (*chain, "allOf") if len(chain) <= _DEEPEST else chain)
            merged = {**inner, **merged, **_together(merged, inner)}
        return merged, chain

    def _one(self, value: Any) -> Mapping[str, Any]:
        """A part of the document, its reference followed."""
        for _ in range(_DEEPEST):
            self._count()
            if not isinstance(value, dict):
                raise BadContract("A part of the document is no mapping.")
            if "$ref" not in value:
                return value
            value = self._follow(str(value["$ref"]))
        raise BadContract("A reference of the document leads to itself.")

    def _follow(self, name: str) -> Any:
        if not name.startswith("#/"):
            raise BadContract(f"The reference {name[:100]} leads out of the document, and only one document is read.")
        value: Any = self._document
        for part in name[2:].split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(value, dict) or key not in value:
                raise BadContract(f"The reference {name[:100]} leads nowhere.")
            value = value[key]
        return value

    def _put(self, place: str, facts: Mapping[str, Any]) -> None:
        self._count()
        self._facts[place] = {**self._facts.get(place, {}), **facts}

    def _count(self) -> None:
        self._steps += 1
        if self._steps > _MOST_FACTS:
            raise BadContract(f"The document has more than {_MOST_FACTS} parts once its references are followed.")


def _together(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What two parts of an ``allOf`` say in common keys."""
    joined: dict[str, Any] = {}
    if isinstance(one.get("properties"), dict) and isinstance(other.get("properties"), dict):
        joined["properties"] = {**other["properties"], **one["properties"]}
    if isinstance(one.get("required"), list) and isinstance(other.get("required"), list):
        joined["required"] = [*one["required"], *other["required"]]
    return joined


def _types(schema: Mapping[str, Any]) -> list[str]:
    """The types that a value may have, each with its format; empty where the schema leaves them open."""
    named = schema.get("type")
    types = [str(each) for each in named] if isinstance(named, list) else [str(named)] if named else []
    if not types and isinstance(schema.get("properties"), dict):
        types = ["object"]
    if schema.get("nullable") is True and types:
        types.append("null")
    form = schema.get("format")
    return sorted({f"{each}:{form}" if form and each != "null" else each for each in types})


def _name_of(schema: Any, number: int) -> str:
    name = str(schema.get("$ref", "")) if isinstance(schema, dict) else ""
    return name.rpartition("/")[2] or str(number)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# ---------------------------------------------------------------- what breaks
def breaking(before: Contract, after: Contract) -> tuple[str, ...]:
    """What a user of ``before`` relies on and ``after`` does not keep, each as ``place: what``; the outermost place alone."""
    gone: set[str] = set()
    found: list[str] = []
    for place in sorted(before, key=lambda place: (place.count(" "), place)):
        if any(outer in gone for outer in _around(place)):
            continue
        if place not in after:
            gone.add(place)
            if what := _removed(place, before[place]):
                found.append(f"{place}: {what}")
        else:
            found += [f"{place}: {what}" for what in _changed(place, before[place], after[place])]
    found += [f"{place}: {what}" for place in sorted(after) if (what := _added(place, before, after))]
    return tuple(found)


def _around(place: str) -> Iterator[str]:
    """The places that this one is part of."""
    at = place.rfind(" ")
    while at > 0:
        yield place[:at]
        at = place.rfind(" ", 0, at)


def _sent(place: str) -> bool:
    """Whether callers send what stands there; else they get it."""
    return " > " in place or " ? " in place


def _removed(place: str, fact: Mapping[str, Any]) -> str:
    if _sent(place):
        # A field or parameter that is not wanted any more may still be sent.
        return "no longer accepted" if "media" in fact or "choice" in fact else ""
    return "" if "choice" in fact else "removed"


def _added(place: str, before: Contract, after: Contract) -> str:
    if place in before or not after[place].get("required") or not _sent(place):
        return ""
    outer = re.split(r" [>?] ", place)[0]
    holder = place.rpartition(" .")[0] if " ." in place else outer
    known = holder in before and outer in before
    return "required now, and callers do not send it" if known else ""


def _changed(place: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    sent = _sent(place)
    if sent and after.get("required") and not before.get("required"):
        yield "required now"
    if not sent and before.get("required") and not after.get("required"):
        yield "no longer always there"
    wide, narrow = (after, before) if sent else (before, after)
    if not _within(narrow.get("types", []), wide.get("types", [])):
        yield f"type {_words(before)} became {_words(after)}"
    gone = sorted(set(before.get("enum", [])) - set(after["enum"])) if "enum" in after else []
    if "enum" in before and gone:
        yield f"value {', '.join(gone[:5])} removed"
    if sent and "enum" in after and "enum" not in before:
        yield f"only {', '.join(after['enum'][:5])} accepted now"
    if sent:
        yield from _bounds(before.get("bounds", {}), after.get("bounds", {}))


def _within(narrow: list[str], wide: list[str]) -> bool:
    """Whether every value of the one is a value of the other; no type at all means any."""
    if not wide:
        return True
    return all(any(_is_a(each, other) for other in wide) for each in narrow or _ANY)


def _is_a(one: str, other: str) -> bool:
    kind, _, form = one.partition(":")
    wanted, _, wanted_form = other.partition(":")
    if (form, wanted_form) == ("int32", "int64") and kind == wanted:
        return True
    if wanted_form and form != wanted_form:
        return False
    return kind == wanted or (kind == "integer" and wanted == "number")


def _words(fact: Mapping[str, Any]) -> str:
    return " or ".join(fact.get("types", [])) or "anything"


def _bounds(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name, value in after.items():
        was = before.get(name)
        if _is_number(was):
            closer = value > was if name in _LOWER else value < was
        else:
            closer = not (name in _LOWER and value <= 0 and name.startswith(("minLength", "minItems")))
        if closer:
            yield f"{name} is {value} now" + ("" if was is None else f" and was {was}")
