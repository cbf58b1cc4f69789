"""Which lines of a failed installer's log are shown: those that name the error, not the usage that follows them."""

from __future__ import annotations

import pytest

from interlock.host.text import telling_lines

USAGE = [f"npm error   --option-{number}" for number in range(200)]
NPM = [
    "npm warn deprecated left-pad@1.3.0: it failed to be maintained",
    "npm error code EUSAGE",
    "npm error",
    "npm error `npm ci` can only install packages when your package.json and package-lock.json are in sync.",
    "npm error",
    "npm error Missing: left-pad@1.3.0 from lock file",
    "npm error",
    *USAGE,
    "npm error A complete log of this run can be found in: /root/.npm/_logs/x.log",
]


def test_the_first_error_is_shown_and_not_the_usage_after_it() -> None:
    told = telling_lines("\n".join(NPM)).splitlines()
    assert told[0] == "npm error code EUSAGE"
    assert "npm error Missing: left-pad@1.3.0 from lock file" in told
    assert len(told) == 8
    assert "npm error" not in told
    assert told[-1].endswith("x.log")


@pytest.mark.parametrize(
    "error",
    [
        "error: Could not resolve host: registry.example",
        "ERROR: No matching distribution found for nothing==1",
        " ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with frozen-lockfile",
        "go: example.com/x@v1: invalid version: fatal: could not read Username",
        "  \u00d7 No solution found when resolving dependencies:",
        "sh: 1: poetry: not found",
    ],
)
def test_each_installers_way_to_name_an_error_is_known(error: str) -> None:
    told = telling_lines("\n".join((*["Downloading"] * 30, error, *["after it"] * 60))).splitlines()
    assert told[0] == error


@pytest.mark.parametrize("noise", ["0 errors", "warning: a failed thing", "npm warn failed once", "errorless"])
def test_what_is_no_error_moves_nothing(noise: str) -> None:
    lines = [noise, *(f"line {number}" for number in range(40))]
    assert telling_lines("\n".join(lines)).splitlines() == lines[-8:]


def test_a_short_log_and_an_error_near_its_end_are_shown_as_they_are() -> None:
    assert telling_lines("") == ""
    assert telling_lines("one\nerror: two") == "one\nerror: two"
    lines = [*(f"line {number}" for number in range(20)), "fatal: it broke", "done"]
    assert telling_lines("\n".join(lines)).splitlines() == lines[-8:]
