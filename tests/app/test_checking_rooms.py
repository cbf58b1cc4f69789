"""What checks find around their tree: nothing that an agent had in its hands, and the same in the train as alone."""

from __future__ import annotations

import json
import os
import sqlite3

import pytest
from tests.needs import needs_sandbox

from interlock.app import attempt, clean, decide
from interlock.app.database import baseline_of, throwaway
from interlock.core.contract.around import Database
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import State
from interlock.core.problems import Refused

LITE = "databases: {app: {use: sqlite, baseline: dev.sqlite3}, other: {use: sqlite, baseline: other.sqlite3}}\n"
TRAIN = "train: {checks: ['true'], sign_off: none}\n"
COUNT = (
    "import os,sqlite3,sys; "
    "n=sqlite3.connect(os.environ['DATABASE_URL'].removeprefix('sqlite:///')).execute('select count(*) from {table}').fetchone()[0]; "
    "sys.exit(n != {wanted})"
)


def python(code: str) -> str:
    return f"python3 -c {json.dumps(code)}"


@pytest.fixture
def databases(world):
    for name, table in (("dev", "t"), ("other", "o")):
        connection = sqlite3.connect(world.repo / f"{name}.sqlite3")
        connection.execute(f"create table {table} (w)")
        connection.commit()
        connection.close()
    world.write(".gitignore", "*.sqlite3\n")
    world.write("interlock.yaml", TRAIN + LITE)


INSERT = (
    "import os,sqlite3; c=sqlite3.connect(os.environ['DATABASE_URL'].removeprefix('sqlite:///')); "
    "c.execute('insert into t values (1)'); c.commit()"
)


def test_a_row_that_the_agent_left_in_its_database_is_not_there_for_its_checks(world, town, databases):
    command = f"mkdir -p a && echo x > a/x && {python(INSERT)}"
    check = python(COUNT.format(table="t", wanted=1))
    world.card("a", command=command, checks=(check,), extra="needs: {database: app}\n")
    world.push()
    town().dispatch("a")
    town().run()
    assert town().rule("a") == "check-failed"


@pytest.mark.long
def test_members_with_different_databases_land_in_different_trains(world, town, databases):
    for slug, name, table in (("a", "app", "t"), ("b", "other", "o")):
        check = python(COUNT.format(table=table, wanted=0))
        command = f"mkdir -p {slug} && echo x > {slug}/x"
        world.card(slug, command=command, checks=(check,), extra=f"needs: {{database: {name}}}\n")
    world.push()
    town().dispatch("a", "b")
    town().run()
    assert {town().job(slug).state for slug in ("a", "b")} == {State.LANDED}
    assert len({row.train for row in town().ports.store.landings()}) == 2
    assert not list((world.repo / ".git/interlock/jobs").glob("*/check-data/*.database/*.sqlite3"))


def test_a_secret_of_a_card_is_there_in_the_train_as_well(world, town, monkeypatch):
    monkeypatch.setenv("TOKEN_SOURCE", "s3cret-value")
    world.write("interlock.yaml", TRAIN + "secrets: {TOKEN: {variable: TOKEN_SOURCE}}\n")
    command = 'mkdir -p a && echo x > a/x && echo "$TOKEN"'
    world.card("a", command=command, checks=('test "${#TOKEN}" = 12',), extra="needs: {secrets: [TOKEN]}\n")
    world.push()
    town().dispatch("a")
    town().run()
    assert town().job("a").state is State.LANDED
    everything = [path for path in (world.repo / ".git/interlock").rglob("*") if path.is_file() and path.stat().st_size]
    leaks = [path.name for path in everything if b"s3cret-value" in path.read_bytes()]
    assert leaks == []
    assert all(path.stat().st_mode & 0o077 == 0 for path in everything if path.name == "spec.json")


def test_what_a_killed_check_left_is_dropped_first(world, town, databases):
    world.push()
    ports = town().ports
    base = ports.repo.refresh().oid
    database = Database(name="app", use="sqlite", baseline=str(world.repo / "dev.sqlite3"))
    with throwaway(ports, database, base, "worktree", "train-9") as first:
        assert first.file is not None
        first.file.with_name("kept").write_text("")
        os.link(first.file, world.root / "copy")
        first_name = first.name
    kind = ports.databases["sqlite"]
    folder = ports.records.shared("train-9", "check-data")
    baseline = baseline_of(ports, database, base, "worktree")
    kind.branch(baseline, "check-train-9-dead", folder)
    kind.branch(baseline, "somebody-else", ports.records.shared("job-1", "data"))
    with throwaway(ports, database, base, "worktree", "train-9") as second:
        assert second.name != first_name
        assert "check-train-9-dead" not in kind.owned(baseline)
        assert "somebody-else" in kind.owned(baseline)


@needs_sandbox
def test_a_train_runs_at_the_strictest_level_of_its_members(world, town):
    marker = world.root / "out"
    check = f"! touch {marker} && test $PWD = /ws"
    world.card("a", command="mkdir -p a && echo x > a/x", checks=(check,), extra="isolation: sealed\n")
    world.write("interlock.yaml", f"train: {{checks: [{json.dumps(check)}], sign_off: none}}\n")
    world.push()
    town().dispatch("a")
    town().run()
    assert town().job("a").state is State.LANDED
    assert not marker.exists()


def test_clean_goes_on_with_a_broken_policy_and_releases_what_it_was_made_by(world, town, databases):
    world.card("a", extra="needs: {database: app}\n")
    world.push()
    town().dispatch("a")
    decide.abandon(town().ports, "a", "ana", "not now")
    (file,) = (world.repo / ".git/interlock/jobs").glob("*/data/**/*.sqlite3")
    world.git("pull", "-q", "--rebase", "origin", "HEAD")
    world.write("interlock.yaml", "train: [\n")
    world.push("broken")
    town().ports.repo.refresh()
    clean.clean(town().ports, "a", "ana", approve=True)
    assert not file.exists()
    assert list(file.parent.parent.glob("*.gz")) or list((world.repo / ".git/interlock/jobs").glob("*/data/*.gz"))


def test_a_failed_probe_leaves_a_job_that_can_be_cleaned_and_dispatched_again(world, town, databases):
    world.write("interlock.yaml", TRAIN + LITE.replace("dev.sqlite3}", "dev.sqlite3, probe: 'echo shared'}"))
    world.card("a", command="mkdir -p a && echo x > a/x", extra="needs: {database: app}\n")
    world.push()
    first = town().dispatch("a")
    assert first.refusal.rule == "database"
    assert "shared" in first.refusal.what
    again = town().dispatch("a")
    assert "interlock clean a" in again.refusal.would_change
    clean.clean(town().ports, "a", "ana", approve=True)
    world.write("interlock.yaml", TRAIN + LITE)
    world.push("mended")
    assert town().dispatch("a").job is not None


def test_an_approval_is_waited_for_and_not_taken_for_granted(world, town, monkeypatch):
    monkeypatch.setenv("TOKEN_SOURCE", "s3cret-value")
    world.write("interlock.yaml", TRAIN + "secrets: {TOKEN: {variable: TOKEN_SOURCE, approval: deploy}}\n")
    world.card("a", command="mkdir -p a && echo x > a/x", extra="needs: {secrets: [TOKEN]}\n")
    world.push()
    town().dispatch("a")
    job = town().job("a")
    attempt.start(town().ports, job.id, 1)
    with pytest.raises(Refused) as refused:
        attempt.follow(town().ports, job.id, 1)
    assert refused.value.refusal.rule == "approval"


def test_a_job_that_never_came_to_have_a_tree_is_isolated_by_resume(world, town):
    world.card("a", command="mkdir -p a && echo x > a/x")
    world.push()
    ports = town().ports
    job = dispatch_admitted(ports, "a")
    ports.store.record(
        NewEvent(subject=job.id, step="fault", kind="job.waits", data={"rule": "internal", "what": "x", "ask": "y"})
    )
    decide.resume(ports, "a", "ana")
    town().run()
    assert town().job("a").state is State.LANDED


def dispatch_admitted(ports, slug):
    """A job as a dispatch leaves it that was cut off right after its admission."""
    from interlock.app.base import fresh_view
    from interlock.app.dispatch import _admit

    return _admit(ports, fresh_view(ports), slug, "ana", None, frozenset())
