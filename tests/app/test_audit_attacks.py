"""A real history that somebody changed who can write to the database, the records and the mirror: each way is named, none is a fault."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, delete, select, text, update
from tests.app import test_audit as untouched
from tests.integration.store import tamper

from interlock.adapters.signing import KeySigner
from interlock.adapters.store import tables
from interlock.app import bundle
from interlock.app.audit import audit
from interlock.app.bundle import audit_bundle, export
from interlock.core.job.chain import canonical
from interlock.core.problems import Misuse
from interlock.ports.bundle import Ports
from interlock.testing.world import World
from interlock.wiring import store_url

Change = Callable[[Connection, Ports], None]

made, world, ports = untouched.made, untouched.world, untouched.ports


def landing_moved(at: Connection, ports: Ports) -> None:
    row = ports.store.landings()[0]
    at.execute(update(tables.landing).where(tables.landing.c.job == row.job).values(at=row.at - 86_400))


def landing_of_a_look_alike(at: Connection, ports: Ports) -> None:
    row = ports.store.landings()[0]
    at.execute(update(tables.landing).where(tables.landing.c.job == row.job).values(slug="\u0430"))  # a Cyrillic a


def job_with(**parts: Any) -> Change:
    def change(at: Connection, ports: Ports) -> None:
        job = ports.store.find("b")
        assert job is not None
        doc = at.execute(select(tables.job.c.doc).where(tables.job.c.id == job.id)).scalar_one()
        at.execute(update(tables.job).where(tables.job.c.id == job.id).values(doc={**doc, **parts}))

    change.__name__ = f"job_with_{'_'.join(parts)}"
    return change


def job_of_nothing(at: Connection, ports: Ports) -> None:
    job = ports.store.find("b")
    assert job is not None
    at.execute(update(tables.job).where(tables.job.c.id == job.id).values(doc={"x": 1}))


def evidence_of_nothing(at: Connection, ports: Ports) -> None:
    tamper.put(at, 1, doc={"x": [1]})


def evidence_that_was_waived(at: Connection, ports: Ports) -> None:
    doc = tamper.row(at, 1)["doc"]
    tamper.put(at, 1, doc={**doc, "waived": {"tests-removed": "ana"}})


def event_of_nothing(at: Connection, ports: Ports) -> None:
    tamper.put_event(at, 4, data=[1])


def event_at_no_time(at: Connection, ports: Ports) -> None:
    at.execute(text("UPDATE event SET at = 'never' WHERE seq = 4"))


def key_of_nothing(at: Connection, ports: Ports) -> None:
    seq = next(event.seq for event in ports.store.events() if event.kind == "key.added")
    tamper.put_event(at, seq, data=[])


def statement_with_a_key_twice(at: Connection, ports: Ports) -> None:
    """By our own key, as whoever stole it would: what readers take for one is two."""
    payload = tamper.payload(tamper.row(at, 1)["envelope"])
    said = payload.replace(b'{"_type"', b'{"_type":"x","_type"', 1)
    assert json.loads(said) == json.loads(payload)
    tamper.put(at, 1, envelope=ports.signer.sign(said))


def statement_with_more_in_it(at: Connection, ports: Ports) -> None:
    said = json.loads(tamper.payload(tamper.row(at, 1)["envelope"]))
    said["predicate"]["interlock"]["also"] = "x"
    tamper.put(at, 1, envelope=ports.signer.sign(canonical(said)))


def statement_of_another_policy(at: Connection, ports: Ports) -> None:
    said = json.loads(tamper.payload(tamper.row(at, 1)["envelope"]))
    said["predicate"]["interlock"]["policy"] = "0" * 16
    tamper.put(at, 1, envelope=ports.signer.sign(canonical(said)))


CHANGES: tuple[Change, ...] = (
    landing_moved,
    landing_of_a_look_alike,
    job_with(waivers={"tests-removed": "ana"}),
    job_with(approved={"deploy": "ana"}),
    job_with(owner="@eve"),
    job_of_nothing,
    evidence_of_nothing,
    evidence_that_was_waived,
    event_of_nothing,
    event_at_no_time,
    key_of_nothing,
    statement_with_a_key_twice,
    statement_with_more_in_it,
    statement_of_another_policy,
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: each.__name__)
def test_a_row_that_was_forged_is_named_and_never_a_fault(ports: Ports, change: Change) -> None:
    with tamper.loose(store_url(ports.repo)) as connection:
        change(connection, ports)
    found = audit(ports).findings
    assert "wrong" in {each.state for each in found}
    assert all(each.what.endswith(".") for each in found)


@pytest.mark.parametrize("how", ["pipe", "link", "folder"])
def test_what_stands_in_the_place_of_a_log_is_no_log_and_is_not_waited_for(
    ports: Ports,
    how: str,
) -> None:
    (log,) = untouched.logs(ports, "a")
    aside = log.rename(log.with_suffix(".aside"))
    {"pipe": os.mkfifo, "link": lambda path: path.symlink_to(aside), "folder": os.mkdir}[how](log)
    assert untouched.told(ports, "a") == [("missing", "artifact")]


def test_a_checkpoint_that_was_taken_back_with_the_database_is_told_by_those_before(
    ports: Ports,
    world: World,
) -> None:
    """The end is cut off, and the mirror's ref put to the checkpoint that fits: its log has the later one still."""
    mirror = world.repo / ".git/interlock/mirror.git"
    ref = f"refs/interlock/checkpoints/{ports.store.history()}"
    older = (mirror / "logs" / ref).read_text().splitlines()[0].split()[1]
    world.git("update-ref", ref, older, at=mirror)
    first = json.loads(tamper.payload(ports.repo.checkpoint(ports.store.history()) or ""))["predicate"]["seq"]
    with tamper.loose(store_url(ports.repo)) as connection:
        for table in ("change", "slot", "landing", "job", "train"):
            connection.execute(delete(tables.metadata.tables[table]))
        connection.execute(delete(tables.evidence).where(tables.evidence.c.id > 1))
        connection.execute(delete(tables.event).where(tables.event.c.seq > first))
    assert any("its end was cut off" in each.what for each in audit(ports).findings)


def test_a_database_that_took_the_place_of_another_is_told(ports: Ports) -> None:
    which = ports.store.history()
    with tamper.loose(store_url(ports.repo)) as connection:
        for table in ("change", "slot", "landing", "evidence", "job", "train", "event"):
            connection.execute(delete(tables.metadata.tables[table]))
    found = audit(ports)
    assert any(which in note for note in found.notes)
    assert not found.holds, "The default branch tells of what landed."


# ---------------------------------------------------------------- one file
def test_a_bundle_in_which_a_key_stands_twice_is_none(ports: Ports, tmp_path: Path) -> None:
    export(ports, file := tmp_path / "history.json")
    file.write_text(file.read_text().replace('"evidence": [', '"evidence": [], "evidence": [', 1))
    with pytest.raises(Misuse, match="a key stands twice"):
        audit_bundle(KeySigner(tmp_path / "none"), file)


def test_a_row_that_stands_twice_and_histories_that_were_put_together_show(
    ports: Ports,
    tmp_path: Path,
) -> None:
    export(ports, file := tmp_path / "history.json")
    whole = json.loads(file.read_text())
    signer = KeySigner(tmp_path / "none")
    for name in ("events", "evidence", "landings"):
        file.write_text(json.dumps(whole | {name: [*whole[name], whole[name][-1]]}))
        assert "wrong" in {each.state for each in audit_bundle(signer, file).findings}, name
        swapped = [*whole[name][:-2], whole[name][-1], whole[name][-2]]
        file.write_text(json.dumps(whole | {name: swapped}))
        assert audit_bundle(signer, file).holds == (name != "events"), "What has a number needs no order."
    other = [each | {"seq": each["seq"] + len(whole["events"])} for each in whole["events"]]
    file.write_text(json.dumps(whole | {"events": [*whole["events"], *other]}))
    assert not audit_bundle(signer, file).holds


def test_a_bundle_is_a_plain_file_of_a_size_that_a_history_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signer = KeySigner(tmp_path / "none")
    os.mkfifo(pipe := tmp_path / "pipe")
    (big := tmp_path / "big.json").write_text("{}" * 50)
    monkeypatch.setattr(bundle, "_MOST", 64)
    for path, why in (
        (pipe, "no plain file"),
        (tmp_path, "no plain file"),
        (big, "larger than"),
        (tmp_path / "x", "not there"),
    ):
        with pytest.raises(Misuse, match=why):
            audit_bundle(signer, path)


def test_a_history_of_somebody_else_holds_by_itself_and_not_by_the_keys_that_a_person_trusts(
    ports: Ports,
    tmp_path: Path,
) -> None:
    export(ports, file := tmp_path / "history.json")
    signer = KeySigner(tmp_path / "none")
    found = audit_bundle(signer, file)
    assert found.holds
    assert any("--keys FILE says which ones you trust" in note for note in found.notes)
    mine = KeySigner(tmp_path / "mine").public
    assert {each.rule for each in audit_bundle(signer, file, trusted=[mine]).findings} == {"evidence-unsigned"}
