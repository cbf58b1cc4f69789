"""What is read of Python files: definitions, uses with their origin, marks, and what is left alone."""

from __future__ import annotations

import ast

import pytest

from interlock.adapters.facts.python import read
from interlock.core.merge.facts import FileFacts, Symbol, Use


def facts(text: str, path: str = "app/feat.py") -> FileFacts:
    return read(path, text.encode())


def uses(text: str) -> set[tuple[str, str, str]]:
    return {(each.source, each.of, each.name) for each in facts(text).uses}


def symbol(text: str, path: str) -> Symbol:
    (found,) = [each for each in facts(text).symbols if each.path == path]
    return found


@pytest.mark.parametrize(
    ("text", "use"),
    [
        ("from app.core import load\nload()", ("app.core", "", "load")),
        ("from .core import load as l\nl()", (".core", "", "load")),
        ("import app.core as c\nc.State.HELD", ("app.core", "State", "HELD")),
        ("from app import core\ncore.LIMIT", ("app", "core", "LIMIT")),
        ("from app.core import Cart\nCart().total()", ("app.core", "Cart", "total")),
        ("from app.core import Cart\ndef go(c: Cart | None): c.total()", ("app.core", "Cart", "total")),
        ("from app.core import Cart\ndef go(c: 'Cart'): c.total()", ("app.core", "Cart", "total")),
        ("from app.core import Cart\nwith Cart() as c:\n    c.total()", ("app.core", "Cart", "total")),
        ("from app.core import make\nx = make()\nx.total()", ("app.core", "make()", "total")),
        ("from app.core import Base\nclass A(Base):\n    def f(self): super().run()", ("app.core", "Base", "run")),
        ("class A:\n    def f(self): self.run()", ("app.feat", "A", "run")),
        ("from app.core import Cart\nclass A:\n    def __init__(self): self.c = Cart()\n    def f(self): self.c.total()",
         ("app.core", "Cart", "total")),
        ("from app import core\ngetattr(core, 'LIMIT')", ("app", "core", "LIMIT")),
        ("patch('app.core.load')", ("app.core", "", "load")),
        ("def go(x): x.grand_total()", ("", "?", "grand_total")),
        ("lost()", ("", "", "lost")),
    ],
)  # fmt: skip
def test_a_use_tells_where_its_name_comes_from(text: str, use: tuple[str, str, str]) -> None:
    assert use in uses(text)


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    from app.core import load\nexcept ImportError:\n    load = None\nload",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from app.core import load\ndef f(x: load): pass",
        "from app.core import other\ndef f(load): return load()",
        "from app.core import other\ndef f():\n    load = 1\n    return load",
        "from app import core\ngetattr(core, 'load', None)",
    ],
    ids=["guarded", "for type checkers", "a parameter", "a local name", "with a default"],
)
def test_what_breaks_nothing_by_being_gone_is_no_use(text: str) -> None:
    assert not [each for each in facts(text).uses if each.name == "load" and each.source.startswith("app.core")]


@pytest.mark.parametrize(
    ("text", "path", "shown"),
    [
        ("def f(a, b=1, *c, d, e=2, **g): pass", "f", (1, None, ("a", "b", "d", "e"), ("d",), True, 0)),
        ("def f(a, /, b): pass", "f", (2, 2, ("b",), (), False, 1)),
        ("class A:\n    def f(self, x): pass", "A.f", (1, 1, ("x",), (), False, 0)),
        ("class A:\n    @staticmethod\n    def f(x): pass", "A.f", (1, 1, ("x",), (), False, 0)),
        ("class A:\n    def __init__(self, x, y=1): pass", "A", (1, 2, ("x", "y"), (), False, 0)),
        ("class A: pass", "A", (0, 0, (), (), False, 0)),
        ("@dataclass\nclass A:\n    x: int\n    y: int = 1\n    z: ClassVar[int] = 2", "A", (1, 2, ("x", "y"), (), False, 0)),
        ("@dataclass(kw_only=True)\nclass A:\n    x: int\n    y: int = 1", "A", (0, 0, ("x", "y"), ("x",), False, 0)),
        ("class A(NamedTuple):\n    x: int\n    y: int", "A", (2, 2, ("x", "y"), (), False, 0)),
    ],
)  # fmt: skip
def test_a_signature_says_what_a_call_must_give(text: str, path: str, shown: tuple[object, ...]) -> None:
    found = symbol(text, path).signature
    assert found is not None
    assert (found.required, found.most, found.names, found.must, found.any_name, found.only) == shown
    assert not found.unsure


@pytest.mark.parametrize(
    "text",
    [
        "@wrap_it\ndef f(a): pass",
        "class f(metaclass=M):\n    def __init__(self, a): pass",
        "class f:\n    def __new__(cls): pass\n    def __init__(self): pass",
    ],
)
def test_what_may_change_a_signature_makes_it_unsure(text: str) -> None:
    found = symbol(text, "f").signature
    assert found is not None
    assert found.unsure


def test_results_exceptions_and_keys_are_told() -> None:
    text = "def f():\n    if x:\n        raise KeyError(1)\n    found = {'id': 1}\n    found['total'] = 2\n    return found\n"
    assert symbol(text, "f").raises == ("KeyError",)
    assert {each.name for each in facts(text).marks if each.kind == "key" and each.scope == "f"} == {"id", "total"}
    assert symbol("async def f() -> int: ...", "f").signature == symbol("async def f() -> int: ...", "f").signature
    told = symbol("async def f() -> int:\n    return 1", "f").signature
    assert told is not None
    assert told.result == "Coroutine[int]"
    caught = "def f():\n    try:\n        raise KeyError(1)\n    except LookupError:\n        pass\n"
    assert symbol(caught, "f").raises == ()


def test_what_is_done_with_a_value_is_told_also_through_a_name() -> None:
    (use,) = [
        each
        for each in facts("from a import orders\ndef go():\n    o = orders()\n    return o['total'] + o.x\n").uses
        if each.name == "orders" and each.source == "a" and each.call
    ]
    assert set(use.then) == {"key:total", "attr:x"}


def test_a_file_of_a_newer_syntax_is_outlined_and_a_broken_one_is_said() -> None:
    newer = (
        "type Pair[T] = tuple[T, T]\n\ndef old[T](x: T) -> T:\n    return x\n\nclass Box[T]:\n    def get(self): pass\n"
    )
    try:
        ast.parse(newer)
    except SyntaxError:
        found = facts(newer)
        assert {each.path for each in found.symbols} >= {"old", "Box", "Box.get"}
        assert found.text
        assert found.open
    broken = facts("def f(:\n    pass\n\nclass\n")
    assert broken.fault
    assert not broken.symbols
    assert facts("x = 1\0").fault


def test_no_text_ends_in_an_exception() -> None:
    for text in (
        "(" * 500,
        "a" + ".b" * 3000,
        "x = " + "[" * 150 + "]" * 150,
        "",
        "\ufeffx = 1",
        "# coding: nothing\n",
    ):
        found = read("app/x.py", text.encode())
        assert found.fault or found.language == "python"


def test_equal_names_in_all_scopes_of_the_product_are_resolved() -> None:
    """Every free name of a real module is bound or built in: none is told as lost."""
    import interlock.app.conflict_facts as module

    with open(module.__file__, "rb") as file:
        found = read("src/interlock/app/conflict_facts.py", file.read())
    assert not [each for each in found.uses if isinstance(each, Use) and not each.source and not each.of]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("@contextmanager\ndef go() -> Iterator[Cart]: yield Cart()", "AbstractContextManager[Cart]"),
        (
            "@contextlib.asynccontextmanager\nasync def go() -> AsyncGenerator[Cart, None]: yield Cart()",
            "AbstractAsyncContextManager[Cart]",
        ),
        ("@contextmanager\ndef go(): yield", "AbstractContextManager"),
        ("@of_another_kind\ndef go(): yield", ""),
        ("def go(): yield", "Iterator"),
    ],
)
def test_a_function_that_is_made_a_context_gives_one(text: str, result: str) -> None:
    signature = symbol(text, "go").signature
    assert signature is not None
    assert signature.result == result


@pytest.mark.parametrize(
    ("text", "then"),
    [
        ("from a import go\nwith go() as x: x", ("with",)),
        ("from a import go\nasync def f():\n    async with go(): pass", ("async with",)),
        ("from a import go\ngo()", ()),
    ],
)
def test_it_is_told_how_a_context_is_entered(text: str, then: tuple[str, ...]) -> None:
    (called,) = [
        each for each in facts(text).uses if each.name == "go" and each.source == "a" and each.call is not None
    ]
    assert called.then == then


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("def a(x):\n    return x + 1", "def b(x):\n\n    # why\n    return (x + 1)", True),
        ("def a(x):\n    return x + 1", "def b(x):\n    return x - 1", False),
        ("def a(x):\n    return 1", "def b(x):\n    return '1'", False),
        ("def a(x):\n    return None", "def b(x):\n    return 'None'", False),
        ("def a(x): return [x], []", "def b(x): return [], [x]", False),
        ("class a:\n    def f(self): return 1", "class b:\n    def f(self): return 1", True),
        ("class a:\n    def f(self): return 1", "class b:\n    def g(self): return 1", False),
    ],
)
def test_the_same_body_under_another_name_is_known(one: str, other: str, *, same: bool) -> None:
    assert (symbol(one, "a").digest == symbol(other, "b").digest) is same
