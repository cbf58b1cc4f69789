"""Case AI-05: a run that ends while its own work goes on in the background."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

import pytest
from tests.integration.watching import seen

from interlock.host import namespace
from interlock.host.attempts import HostRuns
from interlock.ports.processes import Launch


@pytest.mark.parametrize("contain", [True, False])
def test_ai_05_background_work_at_the_end_is_ended_and_recorded(tmp_path: Path, contain: bool) -> None:
    if contain and namespace.prefix() is None:
        pytest.skip("no pid namespace can be had here")
    token = f"interlock-test-{secrets.token_hex(6)}"
    script = (
        f"nohup bash -c 'exec -a {token} sleep 60; touch {tmp_path}/done' >/dev/null 2>&1 & "
        f"setsid bash -c 'exec -a {token} sleep 61' & "
        "echo 'will continue when it finishes'; exit 0"
    )
    order = Launch(argv=("bash", "-c", script), env={"PATH": os.environ["PATH"]}, cwd=tmp_path)
    end = HostRuns(contain=contain).run(tmp_path / "1", order)
    assert (end.how, end.exit_code) == ("exited", 0)
    assert end.tail == "will continue when it finishes"
    assert len(end.leftovers) == 2
    assert all(re.fullmatch(r"\d+ \w+", each) for each in end.leftovers)
    assert seen(token) == []
    assert not (tmp_path / "done").exists()
