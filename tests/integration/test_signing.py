"""The key that evidence is signed with: made once whoever asks at once, for its user alone, and what it signed opened again."""

from __future__ import annotations

import base64
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.adapters.signing import KeySigner, key_ids, read_keys
from interlock.core.job.chain import canonical
from interlock.core.problems import Misuse, Refused
from interlock.host.state import keys_folder, state_folder

STATEMENT = b'{"_type":"x"}'
ASK = "import sys; from pathlib import Path; from interlock.adapters.signing import KeySigner; print(KeySigner(Path(sys.argv[1])).key_id)"


@pytest.fixture
def signer(tmp_path: Path) -> KeySigner:
    return KeySigner(tmp_path / "keys", runner="here")


def refused(signer: KeySigner, envelope: str, *keys: str) -> str:
    with pytest.raises(Refused) as caught:
        signer.open(envelope, keys)
    refusal = caught.value.refusal
    assert all(text.endswith(".") for text in (refusal.what, refusal.why, refusal.would_change))
    return refusal.rule


# ---------------------------------------------------------------- opening
def test_what_was_signed_is_opened_with_the_public_part_alone(signer: KeySigner, tmp_path: Path) -> None:
    elsewhere = KeySigner(tmp_path / "elsewhere")
    assert elsewhere.open(signer.sign(STATEMENT), [signer.public]) == STATEMENT
    assert not elsewhere.file.exists(), "Opening makes no key."
    assert key_ids([signer.public]) == (signer.key_id,)


def test_what_is_not_as_it_was_signed_is_edited(signer: KeySigner) -> None:
    shape = json.loads(signer.sign(STATEMENT))
    other = json.loads(signer.sign(b"{}"))
    (signature,) = shape["signatures"]
    wrong = [
        shape | {"payload": base64.b64encode(STATEMENT + b" ").decode()},
        shape | {"payload": other["payload"]},
        shape | {"payloadType": "application/json"},
        shape | {"signatures": other["signatures"]},
        shape | {"signatures": [signature | {"sig": "AAAA"}]},
        shape | {"signatures": [signature, signature]},
        shape | {"signatures": "x"},
        shape | {"signatures": [1]},
        {name: shape[name] for name in ("payload", "signatures")},
        [],
        None,
    ]
    for each in wrong:
        assert refused(signer, json.dumps(each), signer.public) == "evidence-edited", each
    for text in ("", "{", "\0", "[" * 100_000):
        assert refused(signer, text, signer.public) == "evidence-edited"


def test_without_a_signature_of_a_known_key_it_is_unsigned(signer: KeySigner, tmp_path: Path) -> None:
    foreign = KeySigner(tmp_path / "foreign")
    shape = json.loads(signer.sign(STATEMENT))
    assert refused(signer, json.dumps(shape | {"signatures": []}), signer.public) == "evidence-unsigned"
    assert refused(signer, foreign.sign(STATEMENT), signer.public) == "evidence-unsigned"
    assert refused(signer, signer.sign(STATEMENT)) == "evidence-unsigned"
    assert refused(signer, signer.sign(STATEMENT), "not a key", "") == "evidence-unsigned"


def test_a_foreign_signature_under_a_known_id_is_edited(signer: KeySigner, tmp_path: Path) -> None:
    shape = json.loads(KeySigner(tmp_path / "foreign").sign(STATEMENT))
    shape["signatures"][0]["keyid"] = signer.key_id
    assert refused(signer, json.dumps(shape), signer.public) == "evidence-edited"


def test_an_envelope_is_taken_only_as_it_was_written(signer: KeySigner, tmp_path: Path) -> None:
    """A second signature, a key that stands twice, anything beside it, or the same in other words."""
    text = signer.sign(STATEMENT)
    shape, other = json.loads(text), json.loads(KeySigner(tmp_path / "foreign").sign(STATEMENT))
    (signature,) = shape["signatures"]
    for each in (
        json.dumps(shape | {"signatures": [*other["signatures"], signature]}),
        json.dumps(shape | {"signatures": [signature, *other["signatures"]]}),
        json.dumps(shape),
        canonical(shape | {"note": "x"}).decode(),
        canonical(shape | {"signatures": [signature | {"cert": "x"}]}).decode(),
        text.replace('{"payload":', '{"payload":"e30=","payload":'),
        canonical(shape | {"signatures": [signature | {"sig": signature["sig"] + "===="}]}).decode(),
        canonical(shape | {"payload": shape["payload"][:4] + "\n" + shape["payload"][4:]}).decode(),
        f" {text}",
    ):
        assert refused(signer, each, signer.public) == "evidence-edited", each


# ---------------------------------------------------------------- keys that are listed
def test_what_a_key_signed_that_is_not_listed_is_not_opened(signer: KeySigner, tmp_path: Path) -> None:
    other = KeySigner(tmp_path / "other")
    keys = [signer.public, other.public]
    with pytest.raises(Refused) as caught:
        signer.open(other.sign(STATEMENT), keys, listed=[signer.key_id])
    refusal = caught.value.refusal
    assert (refusal.rule, refusal.holders) == ("evidence-key", (other.key_id,))
    assert f"Add {other.key_id} under evidence.keys" in refusal.would_change
    assert all(text.endswith(".") for text in (refusal.what, refusal.why, refusal.would_change))
    both = [signer.key_id, other.key_id]
    assert signer.open(other.sign(STATEMENT), keys, listed=both) == STATEMENT
    assert signer.open(signer.sign(STATEMENT), keys, listed=[signer.key_id]) == STATEMENT


def test_a_key_that_is_not_listed_says_so_before_anything_is_signed(signer: KeySigner) -> None:
    listed = ["0" * 64]
    here = KeySigner(signer.file.parent, runner="here", listed=lambda: tuple(listed))
    signer.check()  # which makes it
    for ask in (here.check, here.told):
        with pytest.raises(Refused) as caught:
            ask()
        assert caught.value.refusal.rule == "evidence-key"
        assert "of here, which interlock.yaml does not list" in caught.value.refusal.what
    listed.append(here.key_id)
    here.check()
    assert "interlock.yaml lists 2" in here.told()
    listed.clear()
    here.check()
    assert "interlock audit --keys" in here.told()


# ---------------------------------------------------------------- the key
@pytest.mark.long
def test_twenty_processes_that_need_it_first_find_one_key(tmp_path: Path) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", ASK, str(tmp_path / "keys")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(20)
    ]
    told = [each.communicate(timeout=60) for each in started]
    assert len({out for out, _ in told}) == 1, [err for _, err in told if err]
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["evidence.pem"], "Nothing half-made is left."


def test_it_is_for_its_user_alone_and_stays(signer: KeySigner) -> None:
    assert "None yet" in signer.told()
    assert not signer.file.exists(), "Telling makes no key."
    first = signer.key_id
    assert stat.S_IMODE(signer.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(signer.file.parent.stat().st_mode) == 0o700
    assert KeySigner(signer.file.parent).key_id == first
    assert first[:12] in signer.told()
    assert "PRIVATE" not in signer.public


@pytest.mark.parametrize("wrong", ["readable", "empty", "text", "link", "folder", "rsa", "public"])
def test_one_that_cannot_be_trusted_is_refused_and_left_as_it_is(signer: KeySigner, tmp_path: Path, wrong: str) -> None:
    signer.file.parent.mkdir()
    if wrong == "folder":
        signer.file.mkdir()
    elif wrong == "link":
        other = KeySigner(tmp_path / "other")
        assert other.key_id
        signer.file.symlink_to(other.file)
    else:
        other = KeySigner(tmp_path / "other")
        text = {"empty": "", "text": "secret", "public": other.public}.get(wrong)
        signer.file.write_bytes(text.encode() if text is not None else _private(wrong, other))
        signer.file.chmod(0o644 if wrong == "readable" else 0o600)
    with pytest.raises(Refused) as caught:
        signer.sign(STATEMENT)
    refusal = caught.value.refusal
    assert refusal.rule == "secret"
    assert str(signer.file) in refusal.what
    assert "PRIVATE" not in refusal.what
    assert all(text.endswith(".") for text in (refusal.what, refusal.why, refusal.would_change))


def _private(kind: str, other: KeySigner) -> bytes:
    if kind == "rsa":
        from securesystemslib.signer import CryptoSigner  # type: ignore[attr-defined]

        return bytes(CryptoSigner.generate_rsa().private_bytes)
    assert other.key_id
    return other.file.read_bytes()


@pytest.mark.skipif(os.geteuid() != 0, reason="Only root can give a file away.")
def test_another_users_key_is_not_ours(signer: KeySigner) -> None:
    assert signer.key_id
    os.chown(signer.file, 4711, 4711)
    with pytest.raises(Refused):
        KeySigner(signer.file.parent).sign(STATEMENT)


def test_it_is_kept_with_the_users_lasting_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert keys_folder() == tmp_path / "interlock" / "keys"
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert state_folder() == tmp_path / "home" / ".local" / "state" / "interlock"


# ---------------------------------------------------------------- files of public keys
def test_public_keys_are_read_from_a_file(signer: KeySigner, tmp_path: Path) -> None:
    other = KeySigner(tmp_path / "other")
    (tmp_path / "keys.pem").write_text(f"{signer.public}\n\n{other.public}")
    assert key_ids(read_keys(tmp_path / "keys.pem")) == (signer.key_id, other.key_id)


@pytest.mark.parametrize("text", ["", "nothing", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "é"])
def test_a_file_without_a_public_key_is_misuse(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.pem").write_text(text, encoding="utf-8")
    with pytest.raises(Misuse, match=r"keys\.pem"):
        read_keys(tmp_path / "keys.pem")
    with pytest.raises(Misuse):
        read_keys(tmp_path / "none.pem")
