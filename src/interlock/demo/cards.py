"""The demo's cards, caps and policy as files; what its agents make of them is in agent."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final

AGENT: Final = Path(__file__).with_name("agent.py")
OWNER: Final = "@ana"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One card and the part its agent plays; ``tests`` is the folder that its check runs (None: the whole suite)."""

    slug: str
    class_name: str
    goal: str
    owned: tuple[str, ...]
    plays: str
    tests: str | None = None
    at_least: int = 1
    depends_on: tuple[str, ...] = ()


SLICE, FIX, TESTS = "vertical-slice", "bug-fix", "tests"
CAPS: Final = {SLICE: 4, FIX: 4, TESTS: 1}


WHOLE: Final = 12
"""The tests of the whole suite before any card."""


def _owned(name: str) -> tuple[str, ...]:
    return (f"shop/{name}/**", f"tests/{name}/**")


PARTS: Final = (
    Part(
        slug="gift-wrap",
        class_name=SLICE,
        goal="Wrap the items of a cart as gifts, for a fee per copy.",
        owned=_owned("wrapping"),
        tests="tests/wrapping",
        at_least=2,
        plays="a good slice",
    ),
    Part(
        slug="net-price",
        class_name=SLICE,
        goal="Call the price without tax what the accountants call it, net_price.",
        owned=_owned("prices"),
        at_least=WHOLE,
        plays="renames a function, and every use of it that there is today",
    ),
    Part(
        slug="order-tax",
        class_name=SLICE,
        goal="Tell the tax in an order.",
        owned=_owned("orders"),
        at_least=WHOLE,
        plays="begins to use that function under its old name: green alone, red together",
    ),
    Part(
        slug="rounding",
        class_name=SLICE,
        goal="Round parts of a cent.",
        owned=_owned("rounding"),
        at_least=WHOLE,
        plays="stops with a question",
    ),
    Part(
        slug="loyalty",
        class_name=SLICE,
        goal="Give points for every euro.",
        owned=_owned("loyalty"),
        tests="tests/loyalty",
        plays="is one more than the cap of its class",
    ),
    Part(
        slug="quick-search",
        class_name=FIX,
        goal="Find a title by a part of it.",
        owned=_owned("search"),
        tests="tests/cart",
        plays="changes a file outside its scope",
    ),
    Part(
        slug="box-labels",
        class_name=FIX,
        goal="Print the number of boxes on a label.",
        owned=_owned("labels"),
        tests="tests/labels",
        at_least=2,
        plays="moves a file out of a neighbour's folder into its own",
    ),
    Part(
        slug="low-stock",
        class_name=FIX,
        goal="Warn when little is left of a title.",
        owned=_owned("alerts"),
        tests="tests/alerts",
        plays="claims success; its tests are never collected",
    ),
    Part(
        slug="order-export",
        class_name=FIX,
        goal="Export orders with their numbers in order.",
        owned=_owned("exports"),
        tests="tests/orders",
        plays="claims success and does nothing",
    ),
    Part(
        slug="stock-tests",
        class_name=TESTS,
        goal="Test what the stock tells about a known title.",
        owned=("tests/stock/**",),
        tests="tests/stock",
        at_least=4,
        plays="adds a test and deletes another",
    ),
    Part(
        slug="gift-greeting",
        class_name=SLICE,
        goal="Put a greeting into a gift.",
        owned=_owned("greetings"),
        tests="tests/greetings",
        at_least=2,
        depends_on=("gift-wrap",),
        plays="depends on the good slice",
    ),
)


def files(python: str) -> dict[str, str]:
    """Path → text of cards, caps and policy; ``python`` is the interpreter that checks and agents run with."""
    caps = "# class cap\n" + "".join(f"{name} {cap}\n" for name, cap in CAPS.items())
    cards = {f"tasks/{part.slug}.yaml": _card(part, shlex.quote(python)) for part in PARTS}
    return {"tasks/caps.txt": caps, "interlock.yaml": _policy(shlex.quote(python)), **cards}


def _policy(python: str) -> str:
    return f"""\
train:
  checks:
    - run: {json.dumps(f"{python} -m pytest -q")}
      report: {{at_least: {WHOLE}}}
environment: [PYTEST_DISABLE_PLUGIN_AUTOLOAD]
sandbox: {{tools: [{json.dumps(str(AGENT))}]}}
review_wip: 12
"""


def _card(part: Part, python: str) -> str:
    command = f"{python} {shlex.quote(str(AGENT))} {part.slug}"
    check = " ".join((python, "-m pytest -q", *((part.tests,) if part.tests else ())))
    return f"""\
slug: {part.slug}
class: {part.class_name}
goal: {part.goal}
owned_paths: {json.dumps(part.owned)}
depends_on: {json.dumps(part.depends_on)}
checks:
  - run: {json.dumps(check)}
    report: {{at_least: {part.at_least}}}
done_when: [its tests pass, and every test that passed before still runs]
stop_when: [a change outside owned_paths is needed, the card leaves open what to build]
integration_owner: "{OWNER}"
agent: {{use: command, command: {json.dumps(command)}, prompt: stdin}}
budget: {{wall: 2m, attempts: 2}}
"""
