"""``init`` over rules that cannot be read: it says where they are wrong and writes nothing, not even for the forge."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from interlock.app.init import Proposal, propose
from interlock.core.problems import BadInput
from interlock.wiring import contract_files


def offer(top: Path) -> Proposal:
    repo: Any = SimpleNamespace(at_hand=top, remote_url="")
    return propose(repo, contract_files(), finds=lambda _: True, forge="github", owners=("@ana",))


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("interlock.yaml", "train: {checks: ['true']}\nprotected_paths: 7\n", 2),
        ("interlock.yaml", "train: [\n", 1),
        ("tasks/caps.txt", "tests 2\nslice many\n", 2),
    ],
)
def test_broken_rules_are_told_and_no_code_owners_are_made_from_them(
    tmp_path: Path, path: str, text: str, line: int
) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(text)
    with pytest.raises(BadInput) as caught:
        offer(tmp_path)
    told = caught.value.problems[0].as_json()
    assert (told["file"], told["line"]) == (path, line)


def test_the_paths_that_a_policy_protects_are_those_of_its_code_owners(tmp_path: Path) -> None:
    (tmp_path / "interlock.yaml").write_text("train: {checks: ['true']}\nprotected_paths: [ops/**]\n")
    made = offer(tmp_path).files
    assert "/ops/" in made[".github/CODEOWNERS"]
    assert "interlock.yaml" not in made
