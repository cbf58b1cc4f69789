"""``interlock run``: one supervisor at a time over this repository's store; the loop is app.supervise."""

from __future__ import annotations

import click

from interlock.cli.render import Face, verb
from interlock.core.problems import BrokenRules, Refused
from interlock.ports.bundle import Ports

LOCK = "supervisor"


@click.command("run")
@click.option("--watch", is_flag=True, help="Stay, and do what becomes due, until interrupted.")
@verb
def command(face: Face, watch: bool) -> int:
    """Do everything that is due: agents, gates, the train; end when nothing is.

    May be killed at any moment and started again: agents live on, and nothing is done twice.
    A second run waits for the first. Exits with 1 when something that is due could not be done, such as while the remote
    is away or the rules on the default branch cannot be read, or when everything is stalled; that a person is asked is no
    failure.
    """
    from contextlib import suppress

    from interlock.app.base import fresh_view
    from interlock.app.status import BROKEN, status
    from interlock.app.supervise import left_undone, supervise
    from interlock.app.train_show import trains_json
    from interlock.wiring import open_engine, open_ports

    ports = open_ports(narrate=face.say)
    _tell_who_is_at_work(ports, face)
    with ports.records.lock(LOCK, wait=None):
        with suppress(BrokenRules):  # what runs goes on all the same, and the answer tells
            fresh_view(ports)
        engine = open_engine(ports)
        try:
            supervise(ports, engine, watch=watch)
        finally:
            engine.close()
        undone = left_undone(ports)
    now = status(ports)
    shape = now.as_json() | {"landed": trains_json(ports)["landed"]}
    lines = [f"{item['slug']}: {item['rule']}: {item['what']}" for item in now.asked]
    lines += [f"still due: {name}; interlock run tries it again." for name in undone]
    shape["undone"] = list(undone)
    face.answer(shape, lines or ["Nothing is due."], then="interlock inbox" if now.asked else "interlock status")
    stopped = any(item["rule"] in ("landed-otherwise", BROKEN) for item in now.asked)
    return 1 if undone or stopped or now.stall is not None else 0


def _tell_who_is_at_work(ports: Ports, face: Face) -> None:
    try:
        with ports.records.lock(LOCK, wait=0):
            return
    except Refused as busy:
        face.say(f"{busy.message} Waiting for it.")
