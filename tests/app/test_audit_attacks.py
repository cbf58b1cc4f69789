"""A real history that somebody changed who can write to the database, the records and the mirror: each way is named, none is a fault."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, delete, func, insert, select, text, update
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


# ---------------------------------------------------------------- what a run of a check is said to have done
def run_said(at: Connection, change: Callable[[dict[str, Any]], None]) -> None:
    doc = json.loads(json.dumps(tamper.row(at, 1)["doc"]))
    change(doc["verdicts"][0]["run"])
    tamper.put(at, 1, doc=doc)


SAID: dict[str, Callable[[dict[str, Any]], None]] = {
    "argv": lambda run: run.update(argv=["true"]),
    "exit code": lambda run: run.update(exit_code=7),
    "counts": lambda run: run.update(report={"cases": {"t::a": "passed", "t::b": "passed"}}),
    "time": lambda run: run.update(started=run["started"] - 3600),
    "surroundings": lambda run: run.update(environment="0" * 64),
    "digest of the log": lambda run: run.update(log_digest="0" * 64),
    "taken over": lambda run: run.update(cached=not run["cached"]),
}


@pytest.mark.parametrize("part", SAID)
def test_what_a_run_is_said_to_have_done_is_what_was_signed(ports: Ports, part: str) -> None:
    with tamper.loose(store_url(ports.repo)) as connection:
        run_said(connection, SAID[part])
    assert ("wrong", "evidence-edited", "evidence 1") in {
        (each.state, each.rule, each.where) for each in audit(ports).findings
    }


def attempt_dropped(at: Connection, ports: Ports) -> None:
    """An attempt never was: its events are gone, what follows is numbered and digested anew."""
    job = ports.store.find("c")
    assert job is not None
    gone = [event.seq for event in ports.store.events(job.id) if event.attempt == 1]
    rows = [dict(each) for each in at.execute(select(tables.event).order_by(tables.event.c.seq)).mappings()]
    at.execute(delete(tables.event).where(tables.event.c.seq >= gone[0]))
    left = [each for each in rows if each["seq"] > gone[0] and each["seq"] not in gone]
    for seq, each in enumerate(left, gone[0]):
        at.execute(insert(tables.event).values({**each, "seq": seq}))
    tamper.digest_anew(at, gone[0])


def events_swapped(at: Connection, ports: Ports) -> None:
    """Two events in the other order, all digests anew."""
    one, other = tamper.event(at, 5), tamper.event(at, 6)
    tamper.put_event(at, 5, step="aside", subject="aside")
    for seq, each in ((6, one), (5, other)):
        tamper.put_event(at, seq, **{name: value for name, value in each.items() if name not in ("seq", "digest")})
    tamper.digest_anew(at, 5)


def landing_of_both(at: Connection, ports: Ports) -> None:
    """A change is said to have landed that did not, as the commit of one that did."""
    row = at.execute(select(tables.landing).limit(1)).mappings().one()
    job = ports.store.find("c")
    assert job is not None
    at.execute(insert(tables.landing).values({**row, "job": job.id, "slug": "c"}))


def evidence_of_a_neighbour(at: Connection, ports: Ports) -> None:
    """Evidence of one job in the place of that of another."""
    jobs = [ports.store.find(slug) for slug in ("a", "b")]
    one, other = (ports.store.filed(job.id)[0].number for job in jobs if job is not None)
    row = tamper.row(at, one)
    tamper.put(at, other, **{name: row[name] for name in ("commit", "tree", "doc", "envelope", "at")})


@pytest.mark.parametrize(
    "change",
    [attempt_dropped, events_swapped, landing_of_both, evidence_of_a_neighbour],
    ids=lambda each: each.__name__,
)
def test_what_was_put_together_anew_is_named(ports: Ports, change: Change) -> None:
    with tamper.loose(store_url(ports.repo)) as connection:
        change(connection, ports)
    assert "wrong" in {each.state for each in audit(ports).findings}


def test_two_logs_that_changed_places_and_a_report_that_was_cut_are_named(ports: Ports) -> None:
    (one,), (other,) = untouched.logs(ports, "a"), untouched.logs(ports, "b")
    other.write_bytes(b"more\n")
    aside = one.rename(one.with_suffix(".aside"))
    other.rename(one)
    aside.rename(other)
    assert ("wrong", "evidence-edited") in untouched.told(ports)
    other.write_bytes(b"")
    one.write_bytes(b"")
    assert untouched.told(ports) == []
    job = ports.store.find("b")
    assert job is not None
    ((_, row),) = ports.store.evidence(job.id)
    (name,) = row.verdicts[0].run.reports
    report = ports.records.job(job.id) / name
    report.write_bytes(report.read_bytes()[:-1])
    assert untouched.told(ports, "b") == [("wrong", "evidence-edited")]


def test_a_database_of_yesterday_does_not_fit_what_the_mirror_keeps(ports: Ports) -> None:
    """The whole file is put back to what it was, signatures and all."""
    with tamper.loose(store_url(ports.repo)) as connection:
        last = connection.execute(select(func.max(tables.event.c.seq))).scalar_one()
        for table in ("change", "slot", "landing", "job", "train"):
            connection.execute(delete(tables.metadata.tables[table]))
        connection.execute(delete(tables.evidence).where(tables.evidence.c.id > 1))
        connection.execute(delete(tables.event).where(tables.event.c.seq > 9))
        connection.execute(delete(tables.seal).where(tables.seal.c.seq > 9))
    found = audit(ports).findings
    assert any(f"had {last}" in each.what or "its end was cut off" in each.what for each in found)


def test_database_and_mirror_of_yesterday_are_told_by_what_landed_since(ports: Ports, world: World) -> None:
    """Both are put back, with the ref's log: what landed since stands on the default branch, and nothing else is left to tell."""
    mirror = world.repo / ".git/interlock/mirror.git"
    ref = f"refs/interlock/checkpoints/{ports.store.history()}"
    world.git("update-ref", "-d", ref, at=mirror)
    with tamper.loose(store_url(ports.repo)) as connection:
        for table in ("change", "slot", "landing", "job", "train", "evidence"):
            connection.execute(delete(tables.metadata.tables[table]))
        connection.execute(delete(tables.event).where(tables.event.c.seq > 2))
        connection.execute(delete(tables.seal).where(tables.seal.c.seq > 2))
    assert any("on the default branch landed job" in each.what for each in audit(ports).findings)


def test_a_key_that_nobody_listed_is_told_with_the_day_and_the_machine(ports: Ports) -> None:
    notes = audit(ports).notes
    told = next(note for note in notes if "trusted since it was first seen" in note)
    assert ports.signer.key_id[:12] in told
    assert ports.signer.runner in told
    assert "list it under evidence.keys" in told


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
