"""A sign-off that fits no train says which train was meant and which ones wait."""

from __future__ import annotations

import pytest

from interlock.app.sign_off import sign_off
from interlock.core.problems import Misuse, Refused


def test_a_train_that_does_not_ask_is_named_and_so_is_the_one_that_does(world, town):
    world.write("interlock.yaml", "train: {checks: ['true'], sign_off: owner}\n")
    world.card("a", command="mkdir a; echo x > a/x")
    world.push()
    with pytest.raises(Misuse, match=r"Nothing waits for a sign-off. There is no open train"):
        sign_off(town().ports, "@ana", 7)
    town().dispatch("a")
    town().run()
    with pytest.raises(Misuse, match=r"Train 7 waits for no sign-off. Train 1 is tested.") as misuse:
        sign_off(town().ports, "@ana", 7)
    assert "the oldest is train 1" in misuse.value.hint
    for stranger in ("@bob", "@Ana", "ana "):
        with pytest.raises(Refused) as refused:
            sign_off(town().ports, stranger)
        assert refused.value.refusal.holders == ("@ana",)
    assert sign_off(town().ports, "@ana", 1).unsigned == ()
    with pytest.raises(Misuse, match="Train 1 is signed"):
        sign_off(town().ports, "@ana", 1)
