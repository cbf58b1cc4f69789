"""How a value of the wrong shape is told: its key in a person's words, what stands there, and the text to write."""

from __future__ import annotations

from interlock.adapters.files.scalars import quoted
from interlock.adapters.files.yaml_tree import Items, Keys, Node, Text


def named(key: str) -> str:
    """The key as a person says it: ``checks[0]`` is item 1 of checks."""
    if key.endswith("]"):
        name, _, index = key[:-1].rpartition("[")
        return f"{name}: item {int(index) + 1}"
    return key


def last(key: str) -> str:
    return key.rpartition(".")[2]


def why_not(node: Node) -> str:
    """What stands in a place instead of what is due there."""
    if isinstance(node, Text):
        return _why_not_text(node)
    if isinstance(node, Keys):
        after = f', because of the ": " after {next(iter(node.values))}' if len(node.values) == 1 else ""
        return f"A mapping stands there{after}."
    return "A list stands there."


def _why_not_text(node: Text) -> str:
    if node.meaning == "text":
        return f"The text {quoted(node.value)} stands there." if node.value.strip() else "It is blank."
    if node.meaning == "empty" and node.value:
        return f"Without quotes {node.value} means nothing."
    if node.meaning == "empty":
        return "Nothing stands there; what follows a # is a comment."
    if node.meaning == "unclear":
        return f"Without quotes YAML readers disagree about {node.value}: text to some, a number, date or yes/no to others."
    return f"Without quotes {node.value} is {'a true or false' if node.meaning == 'flag' else 'a number'}."


def text_fix(node: Node, key: str) -> str:
    before = "- " if key.endswith("]") else f"{last(key)}: "
    match node:
        case Text(meaning="empty", value=""):
            return "Write the text, in quotes where it begins with #, or take the line out."
        case Text():
            return f"Put it in quotes: {before}{quoted(node.value)}."
        case Keys(values=values) if len(values) == 1:
            name, value = next(iter(values.items()))
            inner = value.value if isinstance(value, Text) else "..."
            return f"Put it in quotes: {before}{quoted(f'{name}: {inner}'.strip())}."
        case Items(items=items) if all(isinstance(item, Text) for item in items):
            inner = ", ".join(item.value for item in items if isinstance(item, Text))
            return f"Put it in quotes if the brackets are meant: {before}{quoted(f'[{inner}]')}."
        case _:
            return f"Write {before}the text."


def list_fix(node: Node, key: str, form: str) -> str:
    name = last(key)
    if isinstance(node, Text) and node.meaning != "empty":
        value = node.value.strip()
        if value.startswith("[") and value.endswith("]"):
            return f"Write {name}: {value}, without quotes around the list."
        return f"Write {name}: [{quoted(value)}]."
    return f"Write {name}: {form}, or {name}: [] for none."
