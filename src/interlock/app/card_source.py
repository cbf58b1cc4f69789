"""Where cards are read from for a check: the default branch of the remote, or the files at hand; judging them is app.cards'."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.app.base import POLICY_FILE
from interlock.app.card_paths import FOLDER, slug_of
from interlock.app.cards import CardReport, check_cards, read_set
from interlock.core.problems import InterlockError, Problem

if TYPE_CHECKING:  # verbs that must start at once import this
    from interlock.core.contract.policy import Policy
    from interlock.ports.contract import CardFile, ContractFiles
    from interlock.ports.repository import Repo

HERE = "the files at hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Cards and policy of one place; ``name`` says which, ``files`` are all paths there (None: not known)."""

    name: str
    note: str
    cards: tuple[CardFile, ...]
    policy: Policy
    policy_problems: tuple[Problem, ...]
    files: tuple[str, ...] | None

    def check(self, only: tuple[str, ...], landed: frozenset[str]) -> CardReport:
        """Judge the cards, those that were named or all."""
        return check_cards(
            self.cards,
            self.policy,
            source=self.name,
            base_files=self.files,
            only=only,
            landed=landed,
            policy_problems=self.policy_problems,
        )


def from_default_branch(repo: Repo, files: ContractFiles, names: Iterable[str] = ()) -> Source:
    """Fetch, and read every card of the default branch, and those named that are not there.  Raises GitFailed."""
    base = repo.refresh()
    every = repo.files(base.oid)
    asked = [path for path in every if path == POLICY_FILE or slug_of(path) is not None]
    blobs = repo.read_many([(base.oid, path) for path in asked])
    texts = {path: blob.data for path, blob in zip(asked, blobs, strict=True) if blob is not None}
    return _source(
        files, texts.get, name=f"{base.ref}@{base.oid}", note=base.note, paths=asked, names=names, known=every
    )


def from_files_at_hand(repo: Repo, files: ContractFiles, names: Iterable[str] = ()) -> Source:
    """Read every card in the folder at hand; its plans count as present, other files are those of the last fetch."""
    top = repo.at_hand
    paths = tuple(f"{FOLDER}/{path.name}" for path in sorted((top / FOLDER).glob("*.yaml")))
    source = _source(
        files, lambda path: _read(top / path), name=HERE, note="", paths=paths, names=names, known=_files_of_base(repo)
    )
    if source.files is None:
        return source
    plans = (each.draft.accepted_plan for each in source.cards if each.draft and each.draft.accepted_plan)
    there = tuple(plan for plan in plans if os.path.isfile(top / plan))  # noqa: PTH113 -- no name is too long for it
    return Source(
        name=source.name,
        note=source.note,
        cards=source.cards,
        policy=source.policy,
        policy_problems=source.policy_problems,
        files=(*source.files, *there),
    )


def _source(
    files: ContractFiles,
    read: Callable[[str], bytes | None],
    *,
    name: str,
    note: str,
    paths: Iterable[str],
    names: Iterable[str],
    known: tuple[str, ...] | None,
) -> Source:
    slugs = {slug for path in paths if (slug := slug_of(path)) is not None}
    policy, problems = files.policy(read(POLICY_FILE) or b"", POLICY_FILE)
    return Source(
        name=name,
        note=note,
        cards=read_set(files, read, slugs | set(names)),
        policy=policy,
        policy_problems=problems,
        files=known,
    )


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def _files_of_base(repo: Repo) -> tuple[str, ...] | None:
    try:
        return repo.files(repo.last_base().oid)
    except InterlockError:
        return None
