"""Two changes that are green alone and red together are brought together by a fresh run, against both intents, or refused (G4)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from interlock.testing.world import World

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

CHECK = f"PYTHONPATH=. {sys.executable} -m pytest -q -p no:cacheprovider"
PRICE = "def price(net):\n    return net\n"
SUITE = "from shop.price import price\n\n\ndef test_a_price_is_a_number():\n    assert price(100) >= 100\n"

TAX = """\
printf 'def price(net):\\n    return net * 12 // 10\\n' > shop/price.py
printf 'from shop.price import price\\n\\n\\ndef test_tax():\\n    assert price(1000) == 1200\\n' > tests/test_tax.py
"""
# The younger one: green alone, and red with the tax in; then what its resolution does, by phase.
SHIPPING = """\
if test "$INTERLOCK_PHASE" = resolve; then {resolve}
else
printf 'from shop.price import price\\n\\n\\ndef total(net):\\n    return price(net) + 5\\n' > shop/shipping.py
printf 'from shop.shipping import total\\n\\n\\ndef test_total():\\n    assert total(100) == 105\\n' > tests/test_shipping.py
fi
"""
MENDED = """\
printf 'from shop.shipping import total\\n\\n\\ndef test_total():\\n    assert total(100) == 125\\n' > tests/test_shipping.py
printf 'from shop.shipping import total\\n\\n\\ndef test_both():\\n    assert total(1000) == 1205\\n' > tests/test_both.py
printf %s '{pack}' | interlock-task pack -
"""
PACK: dict[str, Any] = {
    "conflicts": [
        {
            "path": "tests/test_shipping.py",
            "what": "the total was computed without tax",
            "wins": "both",
            "quotes": {"shipping": "A total is the price and five", "tax": "Every price is shown with tax"},
            "because": "a total stands on a price, which has tax now",
        }
    ],
    "test": "tests/test_both.py::test_both",
    "plan_must_change": "",
}


def world_of(root: Path, resolve: str, level: str = "worktree") -> World:
    """Tax has landed, and shipping waits, red together with it."""
    world = World.make(root, policy=f"train: {{checks: ['{CHECK}'], sign_off: none}}\n", level=level)
    world.write("shop/__init__.py", "")
    world.write("shop/price.py", PRICE)
    world.write("tests/test_price.py", SUITE)
    world.write("docs/tax.md", "# Tax\n\nEvery price is shown\nwith tax.\n")
    owns = {"tax": ["shop/price.py", "tests/test_tax.py"]}
    owns["shipping"] = ["shop/shipping.py", "tests/test_shipping.py", "tests/test_both.py"]
    commands = {"tax": TAX, "shipping": SHIPPING.format(resolve=resolve)}
    done = {"tax": "accepted_plan: docs/tax.md\n", "shipping": ""}
    for slug, paths in owns.items():
        world.card(slug, owns=json.dumps(paths), command=commands[slug], checks=(CHECK,), extra=done[slug])
    text = (world.repo / "tasks" / "shipping.yaml").read_text()
    (world.repo / "tasks" / "shipping.yaml").write_text(text.replace("Do shipping", "A total is the price and five."))
    world.push()
    world.cli("dispatch", "tax", "shipping")
    world.cli("train", "hold", "shipping", "--reason", "the tax first")
    world.cli("run")
    world.cli("train", "add", "shipping")
    world.cli("run", code=None)
    assert "tests/test_tax.py" in world.main_files()
    assert world.ask("show", "shipping")["state"] == "waiting"
    return world


def resolved(root: Path, resolve: str) -> tuple[World, str]:
    """The world after a resolution was tried, and all that is told of the younger change."""
    world = world_of(root, resolve)
    world.cli("resolve", "shipping")
    world.cli("run", code=None)
    return world, json.dumps(world.ask("show", "shipping"))


def mended(**parts: object) -> str:
    return MENDED.format(pack=json.dumps({**PACK, **parts}))


def test_a_resolution_that_quotes_both_and_proves_both_lands(tmp_path: Path) -> None:
    world, told = resolved(tmp_path, mended())
    assert {"shop/shipping.py", "tests/test_both.py"} <= world.main_files(), told
    jobs = world.repo / ".git" / "interlock" / "jobs"
    prompts = [path.read_text(errors="replace") for path in jobs.rglob("prompt*") if path.is_file()]
    world.cli("audit")
    asked = ("Every price is shown", "A total is the price and five", "net * 12 // 10", "word for word")
    assert any(all(words in prompt for words in asked) for prompt in prompts), prompts


@pytest.mark.parametrize(
    ("resolve", "words"),
    [
        (mended().replace("interlock-task pack -", "cat"), "no list of conflicts"),
        (mended(conflicts=[]), "lists no conflict"),
        (mended(test="tests/test_price.py::test_a_price_is_a_number"), "passes with"),
        (mended(test="tests/test_both.py::test_nothing"), "did not run on the combination"),
        (
            mended().replace("total(1000) == 1205", "total(1000) > 1000"),
            "passes with shipping alone, so it does not show that the other one survives",
        ),
        (mended().replace("total(1000) == 1205", "total(1000) == 7"), "is failed on the combination"),
        (mended(plan_must_change="Totals cannot have tax."), "Totals cannot have tax."),
        (
            mended(
                conflicts=[{**PACK["conflicts"][0], "quotes": {"tax": "never written", "shipping": "neither was this"}}]
            ),
            "does not stand",
        ),
        (mended() + "\necho x > outside", "tax, with which it is brought together, owns"),
        (
            mended().replace(
                "def test_both():\\n    assert total(1000) == 1205",
                "def test_both():\\n    import shop.shipping as s\\n    assert s.DONE",
            )
            + "\necho 'DONE = True' >> shop/shipping.py",
            "without the work of tax",
        ),
        (mended() + "\nrm tests/test_shipping.py", "It drops tests/test_shipping.py"),
        (
            mended() + "\nprintf 'def test_tax():\\n    assert 1 + 1 == 2\\n' > tests/test_tax.py",
            "tests of tax",
        ),
        (
            mended(
                conflicts=[
                    {**PACK["conflicts"][0], "quotes": {"tax": "owned_paths:", "shipping": "integration_owner:"}}
                ]
            ),
            "does not stand",
        ),
    ],
    ids=[
        "no-list",
        "empty-list",
        "proves-nothing",
        "no-such-test",
        "proves-one-side",
        "fails-on-both",
        "plan",
        "false-quote",
        "outside",
        "proves-itself",
        "own-test-gone",
        "others-test",
        "quotes-a-key",
    ],
)
def test_a_resolution_that_does_not_hold_waits_for_a_person(tmp_path: Path, resolve: str, words: str) -> None:
    world, told = resolved(tmp_path, resolve)
    assert "shop/shipping.py" not in world.main_files()
    assert words in told
    assert world.ask("show", "shipping")["state"] == "waiting"


def test_said_again_it_is_told_what_the_last_one_lacked_and_is_judged_beside_the_change_as_it_was(
    tmp_path: Path,
) -> None:
    """The second run stands on the first one's work; the test is still run on the change alone, as it was before either."""
    world = world_of(
        tmp_path, f'if test "$INTERLOCK_ATTEMPT_NUMBER" = 2; then\n{mended(conflicts=[])}\nelse\n{mended()}\nfi'
    )
    world.cli("resolve", "shipping")
    world.cli("run", code=None)
    assert "lists no conflict" in json.dumps(world.ask("show", "shipping"))
    world.cli("resolve", "shipping")
    world.cli("run", code=None)
    assert "shop/shipping.py" in world.main_files(), json.dumps(world.ask("show", "shipping"))
    prompts = [path for path in (world.repo / ".git" / "interlock" / "jobs").rglob("prompt*") if path.is_file()]
    assert any("The last resolution did not hold: It lists no conflict" in path.read_text() for path in prompts)


def test_it_may_change_what_the_other_owns(tmp_path: Path) -> None:
    world, told = resolved(tmp_path, mended() + "\necho '# prices with tax' >> shop/price.py")
    assert "shop/shipping.py" in world.main_files(), told


def test_a_job_that_waits_for_something_else_and_a_partner_that_is_not_there_are_refused(tmp_path: Path) -> None:
    world = world_of(tmp_path, "true")
    assert world.cli("resolve", "tax", code=None).returncode != 0
    done = world.cli("resolve", "shipping", "--with", "nobody", code=1)
    assert "--with" in done.stdout + done.stderr
