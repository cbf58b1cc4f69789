"""The audit of a real history: offline, of everything or of one job, with each place named; and of an exported one, alone."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from sqlalchemy import delete
from tests.integration.store import tamper

from interlock.adapters.signing import KeySigner
from interlock.adapters.store import tables
from interlock.app.audit import audit
from interlock.app.bundle import audit_bundle, export
from interlock.app.decide import again
from interlock.app.dispatch import dispatch
from interlock.app.sign_off import sign_off
from interlock.app.supervise import supervise
from interlock.core.job.events import NewEvent
from interlock.core.job.evidence import Evidence
from interlock.core.job.lifecycle import IllegalTransition
from interlock.core.problems import Misuse, Refused
from interlock.ports.bundle import Ports
from interlock.testing.engine import DirectEngine
from interlock.testing.world import World
from interlock.wiring import open_ports, store_url

ROOT = Path(__file__).resolve().parents[2]
REPORT = "printf '<testsuite><testcase name=\"one\"/></testsuite>' > r.xml"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world in which two changes landed, one with a report, and the agent of a third failed."""
    world = World.make(tmp_path_factory.mktemp("audit") / "w")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in world.env.items():
            patch.setenv(name, value)
        for slug in ("a", "b"):
            world.card(slug, command=f"mkdir -p {slug} && echo {slug} > {slug}/x")
        card = (
            (world.repo / "tasks/b.yaml")
            .read_text()
            .replace('checks: ["true"]', f"checks: [{{run: {json.dumps(REPORT)}, report: {{junit: r.xml}}}}]")
        )
        world.write("tasks/b.yaml", card)
        world.card("c", command="exit 3")
        world.push()
        ports = open_ports(world.repo)
        dispatch(ports, ("a", "b", "c"), "ana")
        supervise(ports, DirectEngine(ports))
        ports.store.close()
        yield world


@pytest.fixture
def world(made: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """The same in a place of its own, so that it can be broken."""
    root = tmp_path / "w"
    shutil.copytree(made.root, root, symlinks=True)
    copy = World(root)
    for name, value in copy.env.items():
        monkeypatch.setenv(name, value)
    copy.git("remote", "set-url", "origin", str(copy.remote))
    config = root / "repo/.git/interlock/mirror.git/config"
    config.write_text(config.read_text().replace(str(made.remote), str(copy.remote)))
    return copy


@pytest.fixture
def ports(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ports]:
    """Everything of that place, in a process that cannot open a connection."""
    opened = open_ports(world.repo)

    def no_network(*_: object) -> None:
        raise AssertionError("An audit asks nobody.")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    shutil.move(world.remote, world.remote.with_suffix(".away"))
    yield opened
    opened.store.close()


def told(ports: Ports, name: str | None = None) -> list[tuple[str, str]]:
    return [(each.state, each.rule) for each in audit(ports, name).findings]


def test_what_nobody_touched_holds_without_network_or_remote(ports: Ports) -> None:
    whole = audit(ports)
    assert whole.findings == ()
    assert whole.counts["landings"] == 2
    assert whole.counts["evidence"] >= 3
    assert whole.counts["files"] > whole.counts["evidence"], "The report of b was looked at as well."
    assert whole.keys == (ports.signer.key_id,)
    assert audit(ports, "a").findings == ()
    assert audit(ports, "a").counts["landings"] == 1
    assert audit(ports, "c").counts["landings"] == 0
    with pytest.raises(Misuse, match="nothing-of-that-name"):
        audit(ports, "nothing-of-that-name")


def logs(ports: Ports, slug: str) -> list[Path]:
    job = ports.store.find(slug)
    assert job is not None
    return [
        ports.records.job(job.id) / verdict.run.log
        for _, row in ports.store.evidence(job.id)
        for verdict in row.verdicts
    ]


def test_a_log_that_was_thrown_away_is_missing_and_one_that_was_edited_wrong(ports: Ports) -> None:
    (log,) = logs(ports, "a")
    text = log.read_bytes()
    log.unlink()
    (found,) = audit(ports, "a").findings
    assert (found.state, found.rule, found.where) == ("missing", "artifact", str(log))
    assert told(ports, "b") == [], "It is none of b's."
    log.write_bytes(text + b"1 passed\n")
    (found,) = audit(ports).findings
    assert (found.state, found.rule, found.where) == ("wrong", "evidence-edited", str(log))
    log.write_bytes(text)
    assert told(ports) == []


def test_a_kept_report_is_looked_at_like_the_log(ports: Ports) -> None:
    job = ports.store.find("b")
    assert job is not None
    ((_, row),) = ports.store.evidence(job.id)
    (name,) = row.verdicts[0].run.reports
    report = ports.records.job(job.id) / name
    report.write_bytes(report.read_bytes().replace(b"one", b"two"))
    assert [(each.state, each.where) for each in audit(ports).findings] == [("wrong", str(report))]
    report.unlink()
    assert [(each.state, each.where) for each in audit(ports).findings] == [("missing", str(report))]


def empty(record: Path) -> None:
    """Take away all of a record but its first file: this place is a copy, and one that never had it would be another clone."""
    for path in record.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "environment.json":
            path.unlink()


def test_a_whole_record_that_is_gone_is_named_file_by_file(ports: Ports) -> None:
    job = ports.store.find("b")
    assert job is not None
    empty(ports.records.job(job.id))
    assert {each.state for each in audit(ports, "b").findings} == {"missing"}
    assert len(audit(ports, "b").findings) == 2


def test_a_commit_that_is_not_the_one_that_was_tested(ports: Ports, world: World) -> None:
    (row,) = [row for row in ports.store.landings() if row.slug == "a"]
    other = world.git("rev-parse", "HEAD")
    with tamper.loose(store_url(ports.repo)) as connection:
        connection.execute(tables.landing.update().where(tables.landing.c.job == row.job).values(commit=other))
    found = {(each.state, each.rule) for each in audit(ports).findings}
    assert {("wrong", "tree-mismatch"), ("wrong", "landed-otherwise"), ("missing", "landed-otherwise")} <= found


def test_a_landed_commit_that_is_not_there_or_not_on_the_branch_is_missing(ports: Ports, world: World) -> None:
    mirror = world.repo / ".git/interlock/mirror.git"
    base = world.git("rev-parse", "HEAD")
    world.git("update-ref", "refs/remotes/origin/main", base, at=mirror)
    assert {(each.state, each.rule) for each in audit(ports).findings} == {("missing", "landed-otherwise")}
    commit = ports.store.landings()[0].commit
    (mirror / "objects" / commit[:2] / commit[2:]).unlink()
    assert ("missing", f"commit {commit}") in {(each.state, each.where) for each in audit(ports).findings}


def test_a_member_whose_change_is_not_in_what_landed_is_named(ports: Ports) -> None:
    """As a forge does that squashes anew: the commit is there, and a member's work is not (case FM-029)."""
    landings = ports.store.landings()
    job = ports.store.find("c")
    assert job is not None
    before = audit(ports).findings
    seq = next(event.seq for event in ports.store.events(landings[0].job) if event.kind == "job.published")
    other = next(row for row in landings if row.job != landings[0].job)
    with tamper.loose(store_url(ports.repo)) as connection:
        data = tamper.event(connection, seq)["data"]
        head = ports.store.job(other.job).head if landings[0].commit != other.commit else ports.repo.last_base().oid
        tamper.put_event(connection, seq, data={**data, "head": head})
    assert before == ()
    assert {each.state for each in audit(ports).findings} == {"wrong"}


def test_a_landing_that_the_history_was_made_to_forget_is_told_by_the_branch(ports: Ports) -> None:
    (row,) = [row for row in ports.store.landings() if row.slug == "b"]
    with tamper.loose(store_url(ports.repo)) as connection:
        connection.execute(delete(tables.landing).where(tables.landing.c.job == row.job))
        for event in ports.store.events(row.job):
            tamper.drop_event(connection, event.seq)
        connection.execute(delete(tables.change).where(tables.change.c.job == row.job))
        connection.execute(delete(tables.job).where(tables.job.c.id == row.job))
        tamper.digest_anew(connection, 1)
    found = audit(ports).findings
    assert ("missing", f"commit {row.commit}") in {(each.state, each.where) for each in found}
    assert any("landed job" in each.what for each in found)
    assert any("written anew" in each.what or "cut off" in each.what for each in found)


def test_what_another_history_landed_is_told_and_no_fault(ports: Ports, world: World) -> None:
    mirror = world.repo / ".git/interlock/mirror.git"
    tip = ports.repo.last_base().oid
    tree = world.git("rev-parse", f"{tip}^{{tree}}", at=mirror)
    message = "Land x\n\nInterlock-Job: 0123abcd\n"
    fresh = world.git("commit-tree", tree, "-p", tip, "-m", message, at=mirror)
    world.git("update-ref", "refs/remotes/origin/main", fresh, at=mirror)
    found = audit(ports)
    assert found.findings == ()
    assert any("landed by another history" in note for note in found.notes)


def test_a_checkpoint_that_is_gone_is_missing(ports: Ports, world: World) -> None:
    mirror = world.repo / ".git/interlock/mirror.git"
    world.git("update-ref", "-d", f"refs/interlock/checkpoints/{ports.store.history()}", at=mirror)
    assert [(each.state, each.where) for each in audit(ports).findings] == [("missing", "checkpoint")]


def test_every_event_is_of_a_kind_that_the_schema_has_with_the_data_that_it_says(ports: Ports) -> None:
    events = [asdict(event) for event in ports.store.events()]
    judge = Draft202012Validator(json.loads((ROOT / "schema/event.json").read_text()))
    assert [(each["kind"], fault.message) for each in events for fault in judge.iter_errors(each)] == []
    assert {"train.landed", "attempt.ended", "evidence.added"} <= {each["kind"] for each in events}
    (landed,) = [each for each in events if each["kind"] == "train.landed"][:1]
    assert not judge.is_valid(landed | {"data": {}})
    assert not judge.is_valid(landed | {"kind": "train.gone"})
    with pytest.raises(IllegalTransition, match=r"train\.gone is no kind of event"):
        ports.store.record(NewEvent(subject="split-x", step="x", kind="train.gone"))


# ---------------------------------------------------------------- the command, and one file elsewhere
@pytest.mark.long
def test_the_command_ends_with_0_only_when_all_holds(world: World, tmp_path: Path) -> None:
    assert world.ask("audit")["holds"]
    assert "0 wrong, 0 missing" in world.cli("audit", "a").stdout
    (tmp_path / "keys.pem").write_text(KeySigner(world.root / "home/.local/state/interlock/keys").public)
    assert world.ask("audit", "--keys", str(tmp_path / "keys.pem"))["notes"] == []
    (tmp_path / "other.pem").write_text(KeySigner(tmp_path / "other").public)
    shape = world.ask("audit", "--keys", str(tmp_path / "other.pem"), code=1)
    assert {each["rule"] for each in shape["missing"]} == {"evidence-unsigned"}
    assert shape["wrong"] == []
    for words in (("audit", "zzz"), ("audit", "a", "--export", "x"), ("audit", "--keys", "none.pem")):
        world.cli(*words, code=2)


def test_an_exported_history_is_audited_where_there_is_no_repository(world: World, tmp_path: Path) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    bundle = elsewhere / "history.json"
    assert world.ask("audit", "--export", str(bundle))["keys"] == 1
    world.cli("audit", "--export", str(bundle), code=2)
    shape = world.ask("audit", "--bundle", str(bundle), code=0)
    assert (shape["holds"], shape["looked_at"]["landings"]) == (True, 2)
    told_there = World.start(
        ("audit", "--bundle", str(bundle), "--json"), elsewhere, {**world.env, "HOME": str(elsewhere)}
    )
    assert told_there.returncode == 0, told_there.stderr
    assert not (elsewhere / ".local").exists(), "To verify needs no key of one's own."


def test_each_change_of_an_exported_history_shows(ports: Ports, tmp_path: Path) -> None:
    export(ports, file := tmp_path / "history.json")
    whole = json.loads(file.read_text())
    signer = KeySigner(tmp_path / "none")

    def ask(**parts: object) -> set[tuple[str, str]]:
        file.write_text(json.dumps(whole | parts))
        return {(each.state, each.rule) for each in audit_bundle(signer, file).findings}

    assert ask() == set()
    rows = whole["evidence"]
    doc = {**rows[0]["doc"], "level": "sealed"}
    assert ask(evidence=[rows[0] | {"doc": doc}, *rows[1:]]) == {("wrong", "evidence-edited")}
    assert ask(evidence=rows[1:]) >= {("missing", "evidence-edited")}
    swapped = [rows[0] | {"envelope": rows[1]["envelope"]}, *rows[1:]]
    assert ask(evidence=swapped) == {("wrong", "evidence-replayed")}
    events = whole["events"]
    assert ask(events=[events[0] | {"actor": "x"}, *events[1:]]) == {("wrong", "evidence-edited")}
    assert ask(events=events[:-1]) >= {("missing", "evidence-edited")}
    assert ("wrong", "evidence-edited") in ask(events=[*events[:3], *events[4:]])
    assert ask(landings=[]) == {("missing", "landed-otherwise"), ("missing", "evidence-edited")}
    assert ask(checkpoint=None) == {("missing", "evidence-unsigned")}


def test_a_history_that_was_cut_off_shows_also_where_its_checkpoint_was_cut_off_too(
    ports: Ports, tmp_path: Path
) -> None:
    export(ports, file := tmp_path / "history.json")
    whole = json.loads(file.read_text())
    signer = KeySigner(tmp_path / "none")

    def ask(**parts: object) -> list[tuple[str, str, str]]:
        file.write_text(json.dumps(whole | {"checkpoint": None} | parts))
        return [(each.state, each.rule, each.where) for each in audit_bundle(signer, file).findings]

    gone = [("missing", "evidence-unsigned", "checkpoint")]
    assert ask(events=[], evidence=[], landings=[], keys=[], seals=[]) == gone
    events = whole["events"]
    end = next(place for place, each in enumerate(events) if each["kind"] == "train.landed")
    kept = {each["data"]["evidence"] for each in events[:end] if each["kind"] == "evidence.added"}
    rows = [row for row in whole["evidence"] if row["number"] in kept]
    seals = [each for each in whole["seals"] if each["seq"] < events[end]["seq"]]
    assert ask(events=events[:end], evidence=rows, landings=[], seals=seals) == gone
    nothing: tuple[object, ...] = ("", 0, [], {}, False)
    for each in nothing:
        assert ask(checkpoint=each) == gone


def test_each_field_of_a_landing_is_held_against_the_chain(ports: Ports, tmp_path: Path) -> None:
    export(ports, file := tmp_path / "history.json")
    whole = json.loads(file.read_text())
    signer = KeySigner(tmp_path / "none")
    first, *others = whole["landings"]
    for name, value in {"tested_tree": "f" * 40, "tree": "f" * 40, "slug": "zz", "train": 7, "job": "zz"}.items():
        file.write_text(json.dumps(whole | {"landings": [first | {name: value}, *others]}))
        found = {each.state for each in audit_bundle(signer, file).findings}
        assert "wrong" in found, name


@pytest.mark.parametrize("value", [None, "x", 7, -1, True, [], {}, 1e400, 10**30, "\u00e4", [[]]])
def test_whatever_a_field_of_an_exported_history_holds_is_a_finding_and_never_a_fault(
    ports: Ports, tmp_path: Path, value: object
) -> None:
    export(ports, file := tmp_path / "history.json")
    whole = json.loads(file.read_text())
    signer = KeySigner(tmp_path / "none")
    told_of_landing = next(place for place, each in enumerate(whole["events"]) if each["kind"] == "train.landed")
    key = next(place for place, each in enumerate(whole["events"]) if each["kind"] == "key.added")
    for kind, place in (("events", 3), ("events", told_of_landing), ("events", key), ("evidence", 0), ("landings", 0)):
        rows = whole[kind]
        for name in rows[place]:
            if rows[place][name] == value or (kind, name) == ("landings", "at"):
                continue
            changed = [*rows[:place], rows[place] | {name: value}, *rows[place + 1 :]]
            file.write_text(json.dumps(whole | {kind: changed}))
            assert not audit_bundle(signer, file).holds, (kind, name)
    landed = whole["events"][told_of_landing]
    for data in ({"landed": value}, {"landed": [value]}, {"landed": [{"slug": value}]}):
        changed = [*whole["events"][:told_of_landing], landed | {"data": data}, *whole["events"][told_of_landing + 1 :]]
        file.write_text(json.dumps(whole | {"events": changed}))
        assert not audit_bundle(signer, file).holds, data


def test_rows_of_a_version_that_signed_nothing_are_a_note(ports: Ports, tmp_path: Path) -> None:
    export(ports, file := tmp_path / "history.json")
    whole = json.loads(file.read_text())
    signer = KeySigner(tmp_path / "none")
    old = whole["evidence"][0] | {"number": 0, "at": 1.0, "envelope": None}
    file.write_text(json.dumps(whole | {"evidence": [old, *whole["evidence"]]}))
    found = audit_bundle(signer, file)
    assert found.findings == ()
    assert any("1 row of evidence was written before evidence was signed" in note for note in found.notes)
    for late in (old | {"at": 4e9}, old | {"number": 900}):
        file.write_text(json.dumps(whole | {"evidence": [late, *whole["evidence"]]}))
        assert [(each.state, each.rule) for each in audit_bundle(signer, file).findings] == [
            ("missing", "stale-evidence")
        ]
    stripped = [row | {"envelope": None} for row in whole["evidence"]]
    file.write_text(json.dumps(whole | {"evidence": stripped}))
    assert {each.rule for each in audit_bundle(signer, file).findings} >= {"evidence-unsigned"}


def test_a_record_that_is_gone_is_not_looked_for_in_the_folder_of_the_caller(
    ports: Ports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = ports.store.find("a")
    assert job is not None
    record = ports.records.job(job.id)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("interlock.app.clones.is_elsewhere", lambda *_: False)  # this place is a copy of where it ran
    shutil.move(record, tmp_path / job.id)
    assert ("missing", "artifact") in told(ports)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "other"}', '{"format": "interlock-history/1"}', "\udc80"])
def test_a_file_that_is_no_history_is_misuse(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(Misuse, match=r"x\.json"):
        audit_bundle(KeySigner(tmp_path / "none"), tmp_path / "x.json")


# ---------------------------------------------------------------- what the gates do about it
def evidence_row(number: int, url: str, **parts: object) -> None:
    with tamper.loose(url) as connection:
        doc = tamper.row(connection, number)["doc"]
        tamper.put(connection, number, doc={**doc, **parts})


@pytest.mark.long
def test_a_train_whose_evidence_was_edited_is_neither_signed_off_nor_pushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World.make(tmp_path / "w", policy="train: {checks: ['true']}\n")
    for name, value in world.env.items():
        monkeypatch.setenv(name, value)
    world.card("a", command="mkdir -p a && echo a > a/x")
    before = world.push()
    opened = open_ports(world.repo)
    dispatch(opened, ("a",), "ana")
    supervise(opened, DirectEngine(opened))
    train = opened.store.train()
    assert train is not None
    evidence_row(train.evidence, store_url(opened.repo), level="sealed")
    with pytest.raises(Refused) as caught:
        sign_off(opened, "@ana")
    assert caught.value.refusal.rule == "evidence-edited"
    supervise(opened, DirectEngine(opened))
    job = opened.store.find("a")
    assert job is not None
    assert job.waiting is not None
    assert job.waiting.rule == "evidence-edited"
    assert world.git("rev-parse", "HEAD", at=world.remote) == before
    assert opened.store.landings() == ()
    opened.store.close()


@pytest.mark.long
def test_a_change_whose_evidence_was_edited_waits_for_a_person_and_lands_once_it_is_checked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World.make(tmp_path / "w")
    for name, value in world.env.items():
        monkeypatch.setenv(name, value)
    world.card("a", command="mkdir -p a && echo a > a/x")
    world.push()
    opened = open_ports(world.repo)
    dispatch(opened, ("a",), "ana")
    engine = DirectEngine(opened)
    original = opened.store.add_evidence

    def then_edited(evidence: Evidence) -> int:
        number = original(evidence)
        if evidence.subject.startswith("train:"):
            return number
        evidence_row(number, store_url(opened.repo), same_user=False)
        return number

    with monkeypatch.context() as patch:
        patch.setattr(opened.store, "add_evidence", then_edited)
        supervise(opened, engine)
    job = opened.store.find("a")
    assert job is not None
    assert job.waiting is not None
    assert job.waiting.rule == "evidence-edited"
    again(opened, "a", "ana")
    supervise(opened, engine)
    assert [row.slug for row in opened.store.landings()] == ["a"]
    assert [(each.state, each.rule) for each in audit(opened).findings] == [("wrong", "evidence-edited")]
    opened.store.close()


def test_evidence_of_level_worktree_says_that_an_agent_could_have_signed_it(ports: Ports) -> None:
    rows = ports.store.filed()
    said = [json.loads(tamper.payload(row.envelope or ""))["predicate"]["interlock"] for row in rows]
    assert {(each["level"], each["same_user"]) for each in said} == {("worktree", True)}
