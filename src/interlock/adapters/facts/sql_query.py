"""Finds the tables and columns that one SQL statement reads or writes; what changes the schema is sql_schema's."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.adapters.facts.sql_words import Word, alone, matching, name_at, split

# Words that stand in a query and name no column.
_KEYWORDS = frozenset(
    [
        "select",
        "from",
        "where",
        "and",
        "or",
        "not",
        "null",
        "is",
        "in",
        "as",
        "on",
        "join",
        "left",
        "right",
        "full",
        "inner",
        "outer",
        "cross",
        "natural",
        "using",
        "group",
        "by",
        "order",
        "having",
        "limit",
        "offset",
        "fetch",
        "first",
        "next",
        "rows",
        "row",
        "only",
        "union",
        "all",
        "intersect",
        "except",
        "distinct",
        "case",
        "when",
        "then",
        "else",
        "end",
        "between",
        "like",
        "ilike",
        "similar",
        "exists",
        "any",
        "some",
        "true",
        "false",
        "asc",
        "desc",
        "nulls",
        "last",
        "insert",
        "into",
        "values",
        "update",
        "set",
        "delete",
        "returning",
        "with",
        "recursive",
        "default",
        "conflict",
        "do",
        "nothing",
        "cast",
        "collate",
        "escape",
        "interval",
        "current_date",
        "current_time",
        "current_timestamp",
        "localtime",
        "over",
        "partition",
        "range",
        "unbounded",
        "preceding",
        "following",
        "current",
        "filter",
        "within",
        "lateral",
        "unnest",
        "array",
        "for",
        "share",
        "key",
        "no",
        "skip",
        "locked",
        "window",
        "ties",
        "temporary",
        "temp",
        "if",
        "ignore",
        "replace",
        "abort",
        "rollback",
        "fail",
        "glob",
        "regexp",
        "match",
        "isnull",
        "notnull",
        "unknown",
        "date",
        "time",
        "timestamp",
        "zone",
        "at",
        "excluded",
        "overriding",
        "system",
        "value",
        "duplicate",
        "materialized",
        "off",
        "percent",
        "top",
        "straight_join",
        "force",
        "use",
        "index",
        "rlike",
        "xor",
        "div",
        "mod",
        "binary",
        "sounds",
        "merge",
        "matched",
        "tablesample",
        "apply",
        "pivot",
        "unpivot",
        "qualify",
        "sample",
        "new",
        "old",
    ]
)
_TABLE_BEFORE = frozenset({"from", "join", "into", "update", "using"})


def selected(them: list[Word]) -> Iterator[Word]:
    """The names of a query's columns, where each has one; nothing when a star hides them."""
    if not them or them[0].low != "select":
        return
    end = next((at for at in alone(them) if them[at].low == "from"), len(them))
    items = list(split(them[1:end], ","))
    if any(item[-1].low == "*" for item in items):
        return
    for item in items:
        if item[-1].kind in {"name", "quoted"}:
            yield item[-1]


class Query:
    """The tables and columns of one statement that reads or writes rows."""

    def __init__(self, them: list[Word]) -> None:
        self.them = them
        self.tables: list[tuple[str, Word]] = []
        self.aliases: dict[str, str] = {}
        self.made_up: set[str] = set()
        self.derived = False
        self._common()
        self._tables()

    def _common(self) -> None:
        for at, word in enumerate(self.them[:-2]):
            if word.kind in {"name", "quoted"} and self.them[at + 1].low == "as":
                after = self.them[at + 2].low
                if after == "(" or (after in {"materialized", "not"}):
                    self.made_up.add(word.low)
                    self.derived = True

    def _tables(self) -> None:
        them = self.them
        for at, word in enumerate(them):
            if word.kind != "name" or word.low not in _TABLE_BEFORE or (at and them[at - 1].low == "distinct"):
                continue
            if word.low == "update" and at and them[at - 1].low in {"for", "do", "on", "key"}:
                continue
            if word.low == "using" and them[0].low not in {"delete", "merge"}:
                continue
            if word.low == "from" and _in_function(them, at):
                continue
            self._list(at + 1)

    def _list(self, at: int) -> None:
        them = self.them
        while at < len(them):
            while at < len(them) and them[at].low in {"only", "lateral", "table"}:
                at += 1
            if at < len(them) and them[at].low == "(":
                self.derived = True
                at = matching(them, at) + 1
                name, after = "", at
            else:
                name, after = name_at(them, at)
                if not name or (after < len(them) and them[after].low == "(" and them[0].low != "insert"):
                    # A function that gives rows.
                    self.derived = self.derived or bool(name)
                    return
            at = self._alias(name, them[at] if at < len(them) else them[-1], after)
            if at >= len(them) or them[at].low != ",":
                return
            at += 1

    def _alias(self, name: str, word: Word, at: int) -> int:
        if name in self.made_up:
            name = ""
        if name:
            self.tables.append((name, word))
            self.aliases[name] = name
            self.aliases.setdefault(name.rsplit(".", 1)[-1], name)
        if at < len(self.them) and self.them[at].low == "as":
            at += 1
        if at < len(self.them) and self.them[at].kind in {"name", "quoted"} and self.them[at].low not in _KEYWORDS:
            self.aliases[self.them[at].low] = name
            at += 1
        return at

    def columns(self) -> Iterator[tuple[str, Word]]:
        them = self.them
        own = {name for name, _ in self.tables}
        renamed = {them[at + 1].low for at in range(len(them) - 1) if them[at].low == "as"}
        at = 0
        while at < len(them):
            word = them[at]
            follows = them[at + 1].low if at + 1 < len(them) else ""
            before = them[at - 1].low if at else ""
            if word.kind not in {"name", "quoted"} or before in {"as", "::"}:
                at += 1
            elif follows == "." and at + 2 < len(them):
                table = self.aliases.get(word.low, "")
                if table and them[at + 2].kind in {"name", "quoted"} and before != ".":
                    yield table, them[at + 2]
                at += 3
            else:
                at += 1
                bare = word.kind == "quoted" or word.low not in _KEYWORDS
                listed = follows == "(" and before in {"into", "update"}
                if (
                    not bare
                    or (follows == "(")
                    or listed
                    or word.low in self.aliases
                    or word.low in renamed
                    or self.derived
                ):
                    continue
                if before in _TABLE_BEFORE or before in {"collate", "for", "only", "to"}:
                    continue
                # A bare column belongs to one of the tables, or the statement would not have been right.
                for table in sorted(own):
                    yield table, word


def _in_function(them: list[Word], at: int) -> bool:
    """Is FROM that of EXTRACT(x FROM y), TRIM or SUBSTRING, or of IS DISTINCT FROM?"""
    depth = 0
    for back in range(at - 1, max(-1, at - 12), -1):
        low = them[back].low
        if low == ")":
            depth += 1
        elif low == "(":
            if not depth:
                return back > 0 and them[back - 1].low in {"extract", "trim", "substring", "overlay", "position"}
            depth -= 1
    return False
