"""The repository of the demo before any card: a small shop with a real test suite; cards are in cards."""

from __future__ import annotations

from typing import Final

FILES: Final[dict[str, str]] = {
    ".gitignore": "__pycache__/\n.pytest_cache/\n",
    "README.md": "# Shop\n\nA small bookshop. `python -m pytest -q` runs its tests.\n",
    "pytest.ini": "[pytest]\ntestpaths = tests\n",
    "shop/__init__.py": '"""A small bookshop."""\n',
    "shop/cart/__init__.py": '''\
"""What a customer is about to buy."""


class Cart:
    def __init__(self):
        self.items = []

    def add(self, title, cents, count=1):
        if count < 1:
            raise ValueError("at least one")
        self.items.append((title, cents, count))

    def total(self):
        return sum(cents * count for _, cents, count in self.items)
''',
    "shop/prices/__init__.py": '''\
"""Prices in cents, and the tax in them."""

TAX = {"book": 7, "game": 19}


def net(cents, kind):
    """A price without its tax."""
    return cents * 100 // (100 + TAX[kind])
''',
    "shop/orders/__init__.py": '''\
"""Orders, once they are paid."""


def number(year, count):
    return f"{year}-{count:05d}"
''',
    "shop/stock/__init__.py": '''\
"""How much is left of what."""


def left(stock, title):
    return stock.get(title, 0)


def take(stock, title, count):
    if left(stock, title) < count:
        raise LookupError(title)
    return {**stock, title: stock[title] - count}
''',
    "shop/stock/units.py": '''\
"""Counts in words."""


def boxes(count, per_box=12):
    return -(-count // per_box)
''',
    "shop/labels/__init__.py": '''\
"""What is printed on a parcel."""


def label(title, width=20):
    return title if len(title) <= width else title[: width - 1] + "…"
''',
    "tests/cart/test_cart.py": """\
import pytest
from shop.cart import Cart


def test_an_empty_cart_costs_nothing():
    assert Cart().total() == 0


def test_a_total_counts_every_copy():
    cart = Cart()
    cart.add("Emma", 900, 2)
    cart.add("Ulysses", 1500)
    assert cart.total() == 3300


def test_nothing_is_added_by_none():
    with pytest.raises(ValueError):
        Cart().add("Emma", 900, 0)
""",
    "tests/prices/test_prices.py": """\
from shop import prices


def test_net_price_of_a_book():
    assert prices.net(1070, "book") == 1000


def test_net_price_of_a_game():
    assert prices.net(1190, "game") == 1000
""",
    "tests/orders/test_orders.py": """\
from shop import orders


def test_a_number_has_its_year():
    assert orders.number(2026, 42) == "2026-00042"
""",
    "tests/stock/test_stock.py": """\
import pytest
from shop import stock
from shop.stock.units import boxes


def test_unknown_titles_are_out():
    assert stock.left({}, "Emma") == 0


def test_taking_leaves_less():
    assert stock.take({"Emma": 3}, "Emma", 2) == {"Emma": 1}


def test_no_more_is_taken_than_is_there():
    with pytest.raises(LookupError):
        stock.take({"Emma": 1}, "Emma", 2)


def test_a_part_of_a_box_is_a_box():
    assert boxes(13) == 2
""",
    "tests/labels/test_labels.py": """\
from shop.labels import label


def test_a_short_title_stays():
    assert label("Emma") == "Emma"


def test_a_long_title_is_cut():
    assert len(label("The Old Curiosity Shop and more")) == 20
""",
}
"""Path → text of every file."""
