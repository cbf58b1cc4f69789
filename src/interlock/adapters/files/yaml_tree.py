"""YAML bytes to a tree of text, lists and mappings with their places; what belongs into the tree is the decoders' knowledge.

PyYAML's C parser gives the events (0.03 ms a card); composing them here keeps every place, bounds depth and size,
and refuses what makes two readers see two things: duplicate keys, anchors, aliases, tags, merge keys, further documents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import yaml
from yaml._yaml import CParser

from interlock.adapters.files.scalars import Meaning, meaning, quoted
from interlock.adapters.files.yaml_faults import LINE_BREAKS, fault_of, in_quotes, problem
from interlock.core.problems import Problem

MAX_BYTES: Final = 1_000_000
MAX_DEPTH: Final = 32


@dataclass(slots=True)
class Text:
    """A scalar: its text, and what it means without quotes (quoted ones mean text)."""

    value: str
    meaning: Meaning
    line: int
    column: int


@dataclass(slots=True)
class Items:
    """A list."""

    items: list[Node]
    line: int
    column: int


@dataclass(slots=True)
class Keys:
    """A mapping: values by key, and where each key stands."""

    line: int
    column: int
    values: dict[str, Node] = field(default_factory=dict)
    at: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(slots=True)
class Refused:
    """A part that was refused and told already; decoders pass over it."""

    line: int
    column: int


Node = Text | Items | Keys | Refused


def read_yaml(data: bytes, file: str) -> tuple[Node | None, list[Problem]]:
    """The one document of a file, or None when there is none, and every problem that could be told.

    A byte order mark and CRLF line ends are accepted.
    """
    if len(data) > MAX_BYTES:
        what = f"The file has {len(data)} bytes."
        return None, [problem(file, 1, 1, what, f"It may have {MAX_BYTES} at most.", "Shorten it.")]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = "The file is not UTF-8."
        return None, [problem(file, line, 1, what, "Another encoding reads as other text.", "Save it as UTF-8.")]
    odd = next((char for char in LINE_BREAKS if char in text), None)
    if odd is not None:
        line = text.count("\n", 0, text.index(odd)) + 1
        what = f"The file holds the line separator U+{ord(odd):04X}."
        why = "YAML 1.1 ends a line there and YAML 1.2 does not."
        return None, [problem(file, line, 1, what, why, "Put an ordinary line end in its place.")]
    return _Composer(text, file).run()


class _Composer:
    """Builds the tree from events, without recursion; ``open`` holds each unfinished collection with its pending key."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.problems: list[Problem] = []
        self.open: list[tuple[Items | Keys, list[Any]]] = []
        self.root: Node | None = None
        self.documents = 0

    def run(self) -> tuple[Node | None, list[Problem]]:
        get_event = CParser(self.text).get_event
        try:
            while True:
                event = get_event()
                kind = event.__class__
                if kind is yaml.ScalarEvent:
                    self._scalar(event)
                elif kind in (yaml.MappingStartEvent, yaml.SequenceStartEvent):
                    if len(self.open) >= MAX_DEPTH:
                        return None, [*self.problems, self._too_deep(event)]
                    self._begin(event, mapping=kind is yaml.MappingStartEvent)
                elif kind in (yaml.MappingEndEvent, yaml.SequenceEndEvent):
                    self._end()
                elif kind is yaml.AliasEvent:
                    self._alias(event)
                elif kind is yaml.DocumentStartEvent:
                    self._document(event)
                elif kind is yaml.StreamEndEvent or self.documents > 1:
                    return self.root, self.problems
        except yaml.YAMLError as error:
            return None, [*self.problems, fault_of(error, self.text, self.file)]

    def _scalar(self, event: Any) -> None:
        mark = event.start_mark
        line, column = mark.line + 1, mark.column + 1
        if event.tag is not None:
            self._tell(line, column, f"The tag {event.tag} stands before a value.", self._in_quotes(line))
            self._add(Refused(line, column))
            return
        if event.anchor is not None:
            self._anchor(event)
        plain = not event.style
        self._add(Text(event.value, meaning(event.value) if plain else "text", line, column))

    def _begin(self, event: Any, *, mapping: bool) -> None:
        mark = event.start_mark
        line, column = mark.line + 1, mark.column + 1
        if event.tag is not None:
            self._tell(line, column, f"The tag {event.tag} stands before a value.", self._in_quotes(line))
        if event.anchor is not None:
            self._anchor(event)
        node: Items | Keys = Keys(line, column) if mapping else Items([], line, column)
        self._add(node)
        self.open.append((node, []))

    def _end(self) -> None:
        self.open.pop()

    def _add(self, node: Node) -> None:
        """Put a finished or just begun node where it belongs: the root, a list, or as key or value of a mapping."""
        if not self.open:
            if self.documents <= 1:
                self.root = node
            return
        parent, pending = self.open[-1]
        if isinstance(parent, Items):
            parent.items.append(node)
        elif not pending:
            pending.append(self._key(node, parent))
        else:
            key = pending.pop()
            if key is not None:
                parent.values[key] = node

    def _key(self, node: Node, parent: Keys) -> str | None:
        """The key that a node stands for; None, after telling so, when it cannot be one."""
        if not isinstance(node, Text):
            if not isinstance(node, Refused):
                self._tell(node.line, node.column, "A key is not text.", "Write each key as a plain word.")
            return None
        if node.value == "<<" and node.meaning != "text":
            self._tell(node.line, node.column, 'The merge key "<<" is used.', "Write the keys out.")
            return None
        if node.meaning != "text":
            fix = f"Write {quoted(node.value)} where the word is meant."
            self._tell(node.line, node.column, f'The key "{node.value}" is not text.', fix)
            return None
        if node.value in parent.at:
            first = parent.at[node.value][0]
            self.problems.append(
                problem(
                    self.file,
                    node.line,
                    node.column,
                    f"The key {node.value} stands twice; the first is in line {first}.",
                    "Readers differ in which of the two they take.",
                    "Keep one of them.",
                    kind="duplicate-key",
                )
            )
            return None
        parent.at[node.value] = (node.line, node.column)
        return node.value

    def _document(self, event: Any) -> None:
        self.documents += 1
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        if self.documents == 2:
            self._tell(line, column, "A second document begins here.", "Keep one document in the file.")
        if event.version not in (None, (1, 2)) or event.tags:
            self._tell(line, column, "A %YAML or %TAG line is used.", "Leave it out: the files are YAML 1.2.")

    def _alias(self, event: Any) -> None:
        mark = event.start_mark
        line, column = mark.line + 1, mark.column + 1
        self._tell(line, column, f"The alias *{event.anchor} is used.", self._in_quotes(line))
        self._add(Refused(line, column))

    def _anchor(self, event: Any) -> None:
        mark = event.start_mark
        what = f"The anchor &{event.anchor} stands before a value."
        self._tell(mark.line + 1, mark.column + 1, what, self._in_quotes(mark.line + 1))

    def _too_deep(self, event: Any) -> Problem:
        mark = event.start_mark
        what = f"The file is nested more than {MAX_DEPTH} deep."
        return problem(self.file, mark.line + 1, mark.column + 1, what, "No key needs that.", "Write it flat.")

    def _in_quotes(self, line: int) -> str:
        return in_quotes(self.text, line)

    def _tell(self, line: int, column: int, what: str, fix: str) -> None:
        why = "Anchors, aliases, tags, merge keys and further documents are refused: one file says one thing, as it reads."
        if what.startswith(("A key", "The key")):
            why = "Readers of YAML 1.1 and 1.2 take such a key for different things."
        self.problems.append(problem(self.file, line, column, what, why, fix))
