"""The key that evidence is signed with: no sandbox shows it, whoever names a folder that holds it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.host.boxes import Box, a_box

from interlock.adapters.signing import KeySigner
from interlock.core.problems import Refused
from interlock.host.sandbox import hidden
from interlock.host.state import keys_folder


@pytest.fixture
def box() -> Iterator[Box]:
    with a_box() as made:
        yield made


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A key in its place, below a state folder of this test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    signer = KeySigner(keys_folder())
    assert signer.key_id
    return signer.file


def test_what_runs_sealed_cannot_read_the_key_nor_find_it(box: Box, key: Path) -> None:
    ended, log = box.run(
        f"cat {key} || echo not there; find / -path /proc -prune -o -path /usr -prune -o -name {key.name} -print 2>/dev/null; true"
    )
    assert ended.exit_code == 0
    assert "not there" in log
    assert "PRIVATE" not in log
    assert f"/{key.name}" not in log.replace(f"cat: {key}", "")


@pytest.mark.parametrize("above", [0, 1, 2, 3])
def test_a_folder_that_holds_it_is_not_shown(box: Box, key: Path, above: int) -> None:
    named = [key, *key.parents][above]
    for sandbox in (
        replace(box.sandbox, tools=(str(named),)),
        box.sandbox.with_bind(str(named), "/srv/tools"),
        replace(box.sandbox, tree=str(named)),
    ):
        ended, log = box.run(f"cat {key} /srv/tools/*", sandbox)
        assert ended.how == "failed-to-start"
        assert "evidence" in ended.message
        assert "PRIVATE" not in log


def test_a_link_to_it_and_a_tool_of_the_environment_are_seen_through(
    box: Box, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(key.parent.parent)
    with pytest.raises(Refused) as caught:
        hidden.check([str(tmp_path / "link")])
    assert caught.value.refusal.rule == "sandbox"
    monkeypatch.setenv("INTERLOCK_TOOLS", str(key.parents[1]))
    ended, _ = box.run("true")
    assert ended.how == "failed-to-start"


def test_what_stands_beside_it_is_shown(box: Box, key: Path) -> None:
    beside = key.parents[1] / "tasks"
    beside.mkdir()
    (beside / "x").write_text("a tree")
    beside.chmod(0o755)
    ended, log = box.run("cat /srv/x/x", box.sandbox.with_bind(str(beside), "/srv/x"))
    assert (ended.exit_code, log.strip()) == (0, "a tree")


def test_who_has_no_home_has_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    hidden.check(["/srv"])
