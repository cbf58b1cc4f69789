"""Secrets come from their one approved source or not at all, and no refusal holds a value."""

from __future__ import annotations

import os
import secrets
import shlex
import time
from pathlib import Path

import pytest
from tests.integration.watching import seen, wait_until

from interlock.adapters.secrets import ApprovedSecrets
from interlock.core.contract.around import Secret
from interlock.core.problems import Refused

VALUE = "s3cr3t-välue"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


def read(home: Path, secret: Secret, *, repository: tuple[Path, ...] = (), seconds: float = 30.0, **env: str) -> str:
    values = {"PATH": os.environ["PATH"], "HOME": str(home), **env}
    return ApprovedSecrets(repository=repository, env=values, seconds=seconds).read(secret)


def refused(
    home: Path, secret: Secret, *words: str, repository: tuple[Path, ...] = (), seconds: float = 30.0, **env: str
) -> None:
    with pytest.raises(Refused) as caught:
        read(home, secret, repository=repository, seconds=seconds, **env)
    refusal = caught.value.refusal
    assert refusal.rule == "secret"
    for word in (secret.name, *words):
        assert word in refusal.what
    for text in (refusal.what, refusal.why, refusal.would_change):
        assert text.endswith(".")
        assert "s3cr3t" not in text
    assert caught.value.__cause__ is None


def kept(home: Path, name: str = "token", data: bytes = f"{VALUE}\n".encode(), mode: int = 0o600) -> Path:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    return path


# ---------------------------------------------------------------- a variable
def test_a_variable_that_is_not_set_is_refused_and_one_that_is_gives_its_value(home: Path) -> None:
    secret = Secret(name="NPM", variable="NPM_TOKEN")
    refused(home, secret, "variable NPM_TOKEN", "not set")
    refused(home, secret, "not set", NPM_TOKEN="")
    refused(home, secret, "not set", NPM=VALUE)
    assert read(home, secret, NPM_TOKEN=VALUE) == VALUE


def test_a_source_is_looked_at_without_its_value(home: Path) -> None:
    values = {"PATH": os.environ["PATH"], "HOME": str(home), "NPM_TOKEN": VALUE}
    secrets = ApprovedSecrets(env=values)
    kept(home, "empty", b"")
    for there in ({"variable": "NPM_TOKEN"}, {"file": "~/empty"}, {"command": f"touch {home}/ran; false"}):
        secrets.check(Secret(name="NPM", **there))
    assert not (home / "ran").exists()
    kept(home, "open", mode=0o644)
    for gone in ({"variable": "NOT_SET"}, {"file": "~/nope"}, {"file": "~/open"}):
        with pytest.raises(Refused):
            secrets.check(Secret(name="NPM", **gone))


# ---------------------------------------------------------------- a file
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o601])
def test_a_file_that_others_can_reach_is_refused(home: Path, mode: int) -> None:
    kept(home, mode=mode)
    refused(home, Secret(name="NPM", file="~/token"), "~/token", f"{mode:04o}")


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_for_its_owner_alone_gives_its_text_without_the_last_newline(home: Path, mode: int) -> None:
    kept(home, mode=mode)
    assert read(home, Secret(name="NPM", file="~/token")) == VALUE
    assert read(home, Secret(name="NPM", file=str(home / "token"))) == VALUE


def test_a_file_inside_the_repository_is_refused_by_whatever_name(home: Path, tmp_path: Path) -> None:
    repository = tmp_path / "repo"
    inside = kept(repository, ".env")
    (home / "link").symlink_to(inside)
    (tmp_path / "way").symlink_to(repository)
    for name in (str(inside), "~/link", str(tmp_path / "way/.env"), "~/../repo/.env"):
        refused(home, Secret(name="NPM", file=name), "lies inside", repository=(home / "other", tmp_path / "way"))
    assert read(home, Secret(name="NPM", file=str(inside)), repository=(tmp_path / "re",)) == VALUE


def test_a_relative_or_missing_file_is_refused(home: Path) -> None:
    refused(home, Secret(name="NPM", file="token"), "relative")
    refused(home, Secret(name="NPM", file="~/none"), "cannot be read")
    refused(home, Secret(name="NPM", file="~nobody-of-that-name/x"), "relative")


def test_what_is_no_plain_file_is_refused_without_waiting(home: Path) -> None:
    os.mkfifo(home / "pipe", 0o600)
    (home / "folder").mkdir(mode=0o700)
    begin = time.monotonic()
    refused(home, Secret(name="NPM", file="~/pipe"), "no plain file")
    refused(home, Secret(name="NPM", file="~/folder"), "no plain file")
    assert time.monotonic() - begin < 60


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_a_file_of_another_user_is_refused(home: Path) -> None:
    os.chown(kept(home), 60999, -1)
    refused(home, Secret(name="NPM", file="~/token"), "another user")


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "gives nothing"),
        (b"\n", "gives nothing"),
        (b"s3cr3t\0x", "NUL"),
        (b"s3cr3t\xff", "UTF-8"),
        (b"x" * 70_000, "bytes"),
    ],
)
def test_what_no_variable_could_hold_is_refused(home: Path, data: bytes, word: str) -> None:
    kept(home, data=data)
    refused(home, Secret(name="NPM", file="~/token"), word)


@pytest.mark.parametrize("value", ["x", "42", "yes"])
def test_a_value_that_is_too_short_to_be_left_out_of_a_record_is_refused_and_not_told(home: Path, value: str) -> None:
    secrets = ApprovedSecrets(env={"V": value, "HOME": str(home)})
    with pytest.raises(Refused) as caught:
        secrets.read(Secret(name="PIN", variable="V"))
    assert caught.value.refusal.rule == "secret"
    assert "fewer than 4 characters" in caught.value.refusal.what
    assert f"{value}." not in str(caught.value.refusal)
    assert ApprovedSecrets(env={"V": "longer", "HOME": str(home)}).read(Secret(name="PIN", variable="V")) == "longer"


def test_a_text_of_several_lines_keeps_them(home: Path) -> None:
    kept(home, data=b"-----BEGIN-----\nabc\n-----END-----\n\n")
    assert read(home, Secret(name="KEY", file="~/token")) == "-----BEGIN-----\nabc\n-----END-----\n"


# ---------------------------------------------------------------- a command
def test_a_command_that_fails_is_refused_without_what_it_said(home: Path) -> None:
    secret = Secret(name="NPM", command="cat ~/token; cat ~/token >&2; exit 3")
    kept(home)
    refused(home, secret, "ended with 3")
    refused(home, Secret(name="NPM", command="true"), "gives nothing")


def test_a_command_gives_what_it_prints(home: Path) -> None:
    kept(home)
    assert read(home, Secret(name="NPM", command="cat token; echo noise >&2")) == VALUE
    assert read(home, Secret(name="NPM", command='printf %s "$STORE"'), STORE=VALUE) == VALUE


def test_a_command_that_hangs_is_ended_with_all_that_it_started(home: Path) -> None:
    token = f"interlock-test-{secrets.token_hex(6)}"
    kept(home)
    command = f"bash -c 'exec -a {token} sleep 600' & cat ~/token; exec -a {token} sleep 600"
    begin = time.monotonic()
    refused(home, Secret(name="NPM", command=f"exec bash -c {shlex.quote(command)}"), "within 1.5 s", seconds=1.5)
    assert time.monotonic() - begin < 60
    wait_until(lambda: not seen(token))


def test_a_command_cannot_ask_for_anything(home: Path) -> None:
    refused(home, Secret(name="NPM", command="read -r x && echo $x"), "ended with 1")


def test_thirty_seconds_are_the_limit() -> None:
    assert ApprovedSecrets()._seconds == 30.0


def test_a_secret_without_a_source_is_refused(home: Path) -> None:
    refused(home, Secret(name="NPM"), "not named")
