"""Reads GraphQL and protobuf files: fields by their type, what queries ask for, messages and the numbers of their fields."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Final

from interlock.core.merge.facts import FileFacts, Mark

_GRAPHQL: Final = re.compile(
    r'"""(?:.|\n)*?"""|"(?:[^"\\\n]|\\.)*"|#[^\n]*|\.\.\.|[A-Za-z_]\w*|\$\w+|@\w+|[{}()\[\]:!=|&]'
)
_KINDS: Final = frozenset({"type", "interface", "input", "extend"})
_ASKS: Final = frozenset({"query", "mutation", "subscription", "fragment"})
_PROTO: Final = re.compile(r'//[^\n]*|/\*(?:.|\n)*?\*/|"(?:[^"\\\n]|\\.)*"|[\w.]+|[{};=(),<>\[\]]')
_PLAIN: Final = frozenset(
    [
        "double",
        "float",
        "int32",
        "int64",
        "uint32",
        "uint64",
        "sint32",
        "sint64",
        "fixed32",
        "fixed64",
        "sfixed32",
        "sfixed64",
        "bool",
        "string",
        "bytes",
    ]
)
_MOST_DEPTH: Final = 40


def read(path: str, data: bytes) -> FileFacts:
    """The facts of a schema."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return FileFacts(language="other", fault="The file is not UTF-8.")
    marks = proto(text) if path.endswith(".proto") else graphql(text, 1)
    return FileFacts(language="other", marks=tuple(marks))


def _tokens(pattern: re.Pattern[str], text: str, first: int) -> list[tuple[str, int]]:
    found, at, last = [], first, 0
    for each in pattern.finditer(text):
        at += text.count("\n", last, each.start())
        last = each.start()
        if each[0][:1] not in {"#", '"'} and not each[0].startswith(("//", "/*")):
            found.append((each[0], at))
    return found


def graphql(text: str, first: int) -> Iterator[Mark]:
    """The fields that types have, each with its type, and those that queries ask for, each with the field around it."""
    tokens = [each for each in _tokens(_GRAPHQL, text, first) if each[0][:1] not in "@$!"]
    at = 0
    while at < len(tokens):
        word = tokens[at][0]
        if word in _KINDS and at + 1 < len(tokens):
            at += 1 if word == "extend" else 0
            owner = tokens[min(at + 1, len(tokens) - 1)][0]
            at = _to_brace(tokens, at)
            at = yield from _defined(tokens, at, owner)
        elif word in _ASKS or word == "{":
            parent = word if word in _ASKS else "query"
            if word == "fragment" and at + 3 < len(tokens):
                parent = f"on {tokens[at + 3][0]}"
            at = _to_brace(tokens, at)
            at = yield from _asked(tokens, at, parent)
        else:
            at += 1


def _to_brace(tokens: list[tuple[str, int]], at: int) -> int:
    depth = 0
    while at < len(tokens):
        word = tokens[at][0]
        depth += (word == "(") - (word == ")")
        if word == "{" and not depth:
            return at + 1
        at += 1
    return at


def _past_brackets(tokens: list[tuple[str, int]], at: int) -> int:
    depth = 0
    while at < len(tokens):
        depth += (tokens[at][0] == "(") - (tokens[at][0] == ")")
        at += 1
        if not depth:
            return at
    return at


def _defined(tokens: list[tuple[str, int]], at: int, owner: str) -> Generator[Mark, None, int]:
    while at < len(tokens) and tokens[at][0] != "}":
        name, line = tokens[at]
        at += 1
        if at < len(tokens) and tokens[at][0] == "(":
            at = _past_brackets(tokens, at)
        if at < len(tokens) and tokens[at][0] == ":":
            at += 1
            while at < len(tokens) and tokens[at][0] == "[":
                at += 1
            of = tokens[at][0] if at < len(tokens) else ""
            yield Mark(kind="key", name=name, line=line, role="defines", scope=f"graphql:{owner}", detail=of)
            at += 1
            while at < len(tokens) and tokens[at][0] == "]":
                at += 1
    return at + 1


def _asked(tokens: list[tuple[str, int]], at: int, parent: str) -> Generator[Mark, None, int]:
    above = [parent]
    last = parent
    while at < len(tokens) and above and len(above) < _MOST_DEPTH:
        word, line = tokens[at]
        at += 1
        if word == "{":
            above.append(last)
        elif word == "}":
            above.pop()
        elif word == "(":
            at = _past_brackets(tokens, at - 1)
        elif word == "...":
            if at + 1 < len(tokens) and tokens[at][0] == "on":
                last, at = f"on {tokens[at + 1][0]}", at + 2
            elif at < len(tokens) and tokens[at][0] == "{":
                last = above[-1]
            else:
                at += 1
        elif word.isidentifier():
            if at < len(tokens) and tokens[at][0] == ":":
                continue
            last = word
            yield Mark(kind="key", name=word, line=line, role="uses", scope=f"graphql:{above[-1]}")
    return at


def proto(text: str) -> Iterator[Mark]:
    """Messages as targets of their package, and the number of each field as an entry of its message."""
    tokens = _tokens(_PROTO, text, 1)
    package, owners = "", list[str]()
    for at, (word, line) in enumerate(tokens):
        after = tokens[at + 1][0] if at + 1 < len(tokens) else ""
        if word == "package" and not owners:
            package = after
        elif word in {"message", "enum"} and after.isidentifier() and at + 2 < len(tokens) and tokens[at + 2][0] == "{":
            yield Mark(kind="registration", name=after, line=line, role="defines", scope=f"proto:{package}")
        elif word == "{":
            named = at >= 2 and tokens[at - 2][0] in {"message", "enum"}
            owners.append(tokens[at - 1][0] if named else "" if at < 2 or tokens[at - 2][0] != "oneof" else "|")
        elif word == "}" and owners:
            owners.pop()
        elif word == "=" and after.isdigit() and owners and not _in_options(tokens, at):
            path = ".".join(each for each in owners if each not in {"", "|"})
            yield Mark(kind="registration", name=after, line=line, role="defines", scope=f"proto:{package}.{path}#")
        elif word == "(" and at >= 2 and after.isidentifier() and tokens[at - 1][0] != "option":
            if tokens[at - 2][0] == "rpc" or tokens[at - 1][0] == "returns":
                yield Mark(kind="registration", name=after, line=line, role="uses", scope=f"proto:{package}")
        elif (
            owners
            and owners[-1]
            and _is_type(word)
            and after.isidentifier()
            and tokens[min(at + 2, len(tokens) - 1)][0] == "="
        ):
            yield Mark(kind="registration", name=word, line=line, role="uses", scope=f"proto:{package}")


def _is_type(word: str) -> bool:
    return word.isidentifier() and word not in _PLAIN and word[:1].isupper()


def _in_options(tokens: list[tuple[str, int]], at: int) -> bool:
    """Whether an equals sign is of an option and not of a field."""
    for word, _ in reversed(tokens[max(0, at - 12) : at]):
        if word in {"[", "option"}:
            return True
        if word in {";", "{", "}", "]"}:
            return False
    return False
