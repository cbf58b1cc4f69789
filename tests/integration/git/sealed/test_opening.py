"""A sealed task's tree copied to a folder for an editor: exactly what the agent sees, and nothing that would hang or leak."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.integration.git.build import snapshot_of
from tests.integration.git.sealed.agent import KINDS, Sealed, sealed

from interlock.adapters.git.sealed import opening
from interlock.adapters.git.sealed.layout import Kind
from interlock.core.problems import Refused

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")


@pytest.fixture(params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sealed:
    kind: Kind = request.param
    return sealed(tmp_path, kind, monkeypatch, {"a": "a", "b": "b", "d/one": "1", "d/in/two": "2", "e/f": "f"})


def test_an_existing_folder_is_refused(made: Sealed, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(Refused) as caught:
        opening.materialise(made.repo.mirror, made.layout, made.task, tmp_path / "there")
    assert caught.value.refusal.rule == "name-taken"
    assert list((tmp_path / "there").iterdir()) == []


def test_it_is_what_the_agent_sees(made: Sealed, tmp_path: Path) -> None:
    made.run(
        "echo x >> a; rm b; rm -r d; mkdir d; echo 3 > d/three; ln -s /etc/passwd link; ln -s a in; chmod +x a;"
        "mkfifo pipe; echo 1 > \"$(printf 'l\\344')\"; rm -r e; echo e > e"
    )
    target = tmp_path / "open"
    left = opening.materialise(made.repo.mirror, made.layout, made.task, target)
    assert left == ("pipe",)
    assert snapshot_of(target) == {
        "a": b"ax\n",
        "d/three": b"3\n",
        "link": "/etc/passwd",
        "in": "a",
        "e": b"e\n",
        os.fsdecode(b"l\344"): b"1\n",
    }
    assert os.access(target / "a", os.X_OK)
    assert not (target / ".git").exists()


def test_a_link_that_took_the_place_of_a_folder_is_not_followed(made: Sealed, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "one").write_text("x")
    made.run(f"rm -r d; ln -s {tmp_path}/secret d")
    target = tmp_path / "open"
    opening.materialise(made.repo.mirror, made.layout, made.task, target)
    assert (target / "d").is_symlink()
    assert not (target / "d").is_dir() or (target / "d").readlink() == tmp_path / "secret"
