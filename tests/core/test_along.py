"""How far a value of Python is followed through a merged tree: each way there ends at its type, or at none where a step is not told."""

from __future__ import annotations

import pytest

from interlock.adapters.facts.python import read
from interlock.core.merge.facts import FileFacts
from interlock.core.merge.meet.along import along, split
from interlock.core.merge.meet.sides import Tree

FILES = {
    "shop/models.py": """
from contextlib import contextmanager
from typing import Iterator

class Customer:
    name: str

class Order:
    customer: Customer
    notes: "dict[str, Customer]"
    def parts(self) -> list["Order"]: ...
    @property
    def owner(self) -> Customer | None: ...
    def pair(self) -> tuple[Customer, "Order"]: ...
    def again(self): return self
    def __iter__(self) -> Iterator[Customer]: ...

class Shop:
    def __init__(self, first: Order, other=None):
        self.first = first
        self.made = Order()
        self.found = load()
        self.other = other
        self.twice = Order()
        self.twice = Customer()
    async def later(self) -> Order: ...
    @contextmanager
    def open(self) -> Iterator[Order]: ...

def load() -> Order: ...
def plain(): return {}
def local():
    made = Shop(Order())
    return made
""",
    "shop/__init__.py": "from shop.models import Order as Bill, Shop\nfrom shop import models\n\ncurrent = models.load()\n",
}


def tree() -> Tree:
    known: dict[str, FileFacts] = {path: read(path, text.encode()) for path, text in FILES.items()}
    return Tree(known.get)


@pytest.mark.parametrize(
    ("way", "name"),
    [
        ("Order", "Order"),
        ("Order.customer", "Customer"),
        ("Order.owner", "Customer"),
        ("Order.notes{}", "Customer"),
        ("Order.notes.values()[]", "Customer"),
        ("Order.notes.items()[]#1", "Customer"),
        ("Order.notes.get()", "Customer"),
        ("Order.parts()[].customer", "Customer"),
        ("Order.pair()#1.customer", "Customer"),
        ("Order.again().again().customer", "Customer"),
        ("Order[]", "Customer"),
        ("Shop.first.customer", "Customer"),
        ("Shop.made", "Order"),
        ("Shop.found.owner", "Customer"),
        ("Shop.later().customer", "Customer"),
        ("Shop.open().customer", "Customer"),
        ("local().first", "Order"),
        ("load().parts(){}", "Order"),
    ],
)
def test_a_way_ends_at_the_type_that_stands_there(way: str, name: str) -> None:
    assert along(tree(), "shop/models.py", way) == ("shop/models.py", name)


@pytest.mark.parametrize(
    "way",
    ["Shop.other", "Shop.twice", "Order.notes", "Order.notes.items()[]#0", "Order.lost", "plain().x", "Order.pair()#7", "Nobody", "Order.parts().customer"],
)  # fmt: skip
def test_a_step_that_is_not_told_ends_nowhere(way: str) -> None:
    assert along(tree(), "shop/models.py", way) is None


def test_names_are_followed_through_what_a_package_gives_on() -> None:
    assert along(tree(), "shop/__init__.py", "Bill.customer") == ("shop/models.py", "Customer")
    assert along(tree(), "shop/__init__.py", "current.parts()[]") == ("shop/models.py", "Order")


def test_what_leads_to_itself_ends() -> None:
    own = {"a.py": read("a.py", b"x = y()\ny = x()\n")}
    assert along(Tree(own.get), "a.py", "x.name") is None


def test_parts_are_those_outside_of_brackets() -> None:
    assert split("dict[str, int], list[tuple[int, str]]", ",") == ["dict[str, int]", "list[tuple[int, str]]"]
