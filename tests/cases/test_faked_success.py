"""A corpus of faked successes, each tried as real work of a scripted agent: every one is refused, by its own rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cases.faked import FAKED
from tests.cases.trying import Trial, trial_of


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    yield from trial_of(Path(tmp_path_factory.mktemp("faked")) / "w", FAKED)


@pytest.mark.long
@pytest.mark.parametrize("shape", FAKED, ids=lambda shape: shape.name)
def test_a_faked_success_is_refused(trial: Trial, shape: object) -> None:
    found = trial.of(shape)  # type: ignore[arg-type]
    assert found.state == "waiting", found.told
    assert shape.rule in found.rules, found.told  # type: ignore[attr-defined]


def test_the_corpus_is_large_and_has_a_name_for_each() -> None:
    assert len({shape.name for shape in FAKED}) == len(FAKED) >= 24
    assert len({shape.rule for shape in FAKED}) >= 12
