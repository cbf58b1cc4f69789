"""Signing evidence with this user's own key, and opening what any known key signed (DSSE, Ed25519); what is signed is core's."""

from __future__ import annotations

import base64
import json
import os
import secrets
import socket
import stat
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from interlock.core.job.chain import canonical
from interlock.core.job.trust import unlisted
from interlock.core.problems import Misuse, Refused, in_words, refused
from interlock.host import files

if TYPE_CHECKING:  # the library takes a moment, and most verbs sign nothing
    from securesystemslib.signer import CryptoSigner, SSlibKey  # type: ignore[attr-defined]

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
_KEY: Final = "evidence.pem"
_MOST_KEY: Final = 1 << 14
_PEM_END: Final = "-----END PUBLIC KEY-----"
_ANY_KEY: Final = (
    "interlock.yaml lists no keys, so that who can write to the history can add one of their own: interlock audit --keys "
    "prints the lines that change it."
)


def preload() -> None:
    """Load the library that signs, which takes a while, before it is waited for."""
    from securesystemslib import dsse  # noqa: F401


class KeySigner:
    """The key in a folder of this user (ports.Signer), made when it is first needed.

    ``runner`` names this machine, ``listed`` tells the ids of the keys that may sign (empty: any).
    """

    def __init__(
        self, folder: Path, *, runner: str | None = None, listed: Callable[[], tuple[str, ...]] = tuple
    ) -> None:
        self._folder = folder
        self._listed = listed
        self._signer: CryptoSigner | None = None
        self.runner = socket.gethostname() if runner is None else runner

    @property
    def file(self) -> Path:
        """Where the private key is."""
        return self._folder / _KEY

    @property
    def key_id(self) -> str:
        """The id of this user's key: a digest of its public part.  Raises Refused (secret) when it cannot be used."""
        return self._key().public_key.keyid

    @property
    def public(self) -> str:
        """The public part of this user's key, as PEM."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self._key().public_key.keyval["public"]))
        return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")

    def sign(self, statement: bytes) -> str:
        """An envelope around a statement, as JSON.  Raises Refused (secret) when the key cannot be used."""
        from securesystemslib.dsse import Envelope

        envelope = Envelope(statement, PAYLOAD_TYPE, {})
        envelope.sign(self._key())
        return canonical(envelope.to_dict()).decode("ascii")

    def open(self, envelope: str, keys: Iterable[str], *, listed: Collection[str] = ()) -> bytes:
        """What an envelope holds, when one of the keys (public, as PEM) signed it, and where some are listed one of those.

        Raises Refused: evidence-unsigned without a signature of a known key, evidence-edited when it does not fit,
        evidence-key when the key that signed is not listed.
        """
        return opened(envelope, keys, listed)

    def listed(self) -> tuple[str, ...]:
        """The ids of the keys that may sign; empty where any may.  Raises Refused (evidence-key) when that cannot be told."""
        return self._listed()

    def check(self) -> None:
        """Look whether what this key signs would count.  Raises Refused (secret, evidence-key) when it would not."""
        mine, listed = self.key_id, self.listed()
        if listed and mine not in listed:
            raise Refused(unlisted(mine, f"What is written here is signed with key {mine[:12]} of {self.runner}"))

    def told(self) -> str:
        """One line on the key, without making one.  Raises Refused (secret, evidence-key) when it cannot be used."""
        listed = self.listed()
        said = f"interlock.yaml lists {len(listed)} that may sign." if listed else _ANY_KEY
        if not self.file.exists():
            return f"None yet: it is made with the first event, as {self.file}. {said}"
        self.check()
        return f"Evidence is signed with key {self.key_id[:12]} of {self.file}. {said}"

    def _key(self) -> CryptoSigner:
        if self._signer is None:
            self._signer = _load(self.file, _own_key(self.file))
        return self._signer


def opened(envelope: str, keys: Iterable[str], listed: Collection[str] = ()) -> bytes:
    """See ``KeySigner.open``; needs no key of its own."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import Error, VerificationError

    try:
        found = Envelope.from_dict(json.loads(envelope))
        payload, signed_by = bytes(found.payload), tuple(found.signatures)
    except (Error, ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        raise _refused("evidence-edited", f"The envelope cannot be read: {type(fault).__name__}.") from fault
    if not signed_by:
        raise _refused("evidence-unsigned", "The envelope holds no signature.")
    if len(signed_by) > 1:
        raise _refused("evidence-edited", f"The envelope holds {len(signed_by)} signatures, and is signed once.")
    (signer,), known = signed_by, _readable(keys)
    if signer not in known:
        raise _refused("evidence-unsigned", f"It is signed with key {signer[:12]}, which is not known here.")
    try:
        found.verify([known[signer]], 1)
    except (VerificationError, ValueError) as fault:
        raise _refused("evidence-edited", f"The signature of key {signer[:12]} does not fit it.") from fault
    if found.payload_type != PAYLOAD_TYPE:
        raise _refused("evidence-edited", f"The envelope is of another type, {found.payload_type[:60]!r}.")
    if _written(payload, signer, found.signatures[signer].signature) != envelope:
        raise _refused(
            "evidence-edited", "The envelope is not written as it is signed: something stands beside it or twice."
        )
    if listed and signer not in listed:
        raise Refused(unlisted(signer, f"It is signed with key {signer[:12]}"))
    return payload


def _written(payload: bytes, key: str, signature: str) -> str:
    """The one text that an envelope is written as: another one of the same meaning was not written here."""
    whole = {"payload": _base64(payload), "payloadType": PAYLOAD_TYPE}
    return canonical(whole | {"signatures": [{"keyid": key, "sig": _base64(bytes.fromhex(signature))}]}).decode("ascii")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def key_ids(keys: Iterable[str]) -> tuple[str, ...]:
    """The ids of public keys.  Raises Refused (evidence-unsigned) for one that is none."""
    return tuple(_public_key(key).keyid for key in keys)


def read_keys(path: Path) -> tuple[str, ...]:
    """The public keys in a file, PEM one after the other.  Raises Misuse when there is none that can be read."""
    try:
        text = files.read_plain(path, most=1 << 20).decode("ascii")
        keys = tuple(f"{part.strip()}\n{_PEM_END}\n" for part in text.split(_PEM_END)[:-1])
        if key_ids(keys):
            return keys
    except (OSError, ValueError, Refused) as fault:
        raise Misuse(
            f"{path} cannot be read as public keys: {in_words(fault)}.", hint="It holds public keys as PEM."
        ) from fault
    raise Misuse(f"{path} holds no public key.", hint="It holds public keys as PEM, as audit --export writes them.")


def _readable(keys: Iterable[str]) -> dict[str, SSlibKey]:
    """Keys by their id; one that cannot be read is as good as unknown."""
    known = {}
    for each in keys:
        with suppress(Refused):
            key = _public_key(each)
            known[key.keyid] = key
    return known


@lru_cache(maxsize=64)
def _public_key(pem: str) -> SSlibKey:
    """A public key; its id is made from it here, so that nobody can give a key the id of another."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]

    try:
        key = load_pem_public_key(pem.encode("ascii"))
    except ValueError as fault:
        raise _refused("evidence-unsigned", "A public key of the history cannot be read.") from fault
    if not isinstance(key, Ed25519PublicKey):
        raise _refused("evidence-unsigned", "A public key of the history is of another kind than Ed25519.")
    return SSlibKey.from_crypto(key)


def _own_key(file: Path) -> bytes:
    """The private key's bytes, made by whoever comes first; all others find that one.  Raises Refused (secret)."""
    try:
        if not file.exists():
            _make(file)
        with files.open_plain(file) as descriptor:
            facts = os.fstat(descriptor)
            if stat.S_IMODE(facts.st_mode) & 0o077 or facts.st_uid != os.geteuid():
                raise _unusable(file, "others than its owner can read it, or it is another user's")
            return files.read_open(descriptor, _MOST_KEY)
    except OSError as fault:
        raise _unusable(file, (fault.strerror or str(fault)).rstrip(".")) from fault


def _make(file: Path) -> None:
    """Put a new key in its place whole, unless somebody did so meanwhile: a link never replaces what is there."""
    from securesystemslib.signer import CryptoSigner  # type: ignore[attr-defined]

    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    files.write_whole(fresh, CryptoSigner.generate_ed25519().private_bytes, mode=0o600)
    try:
        with suppress(FileExistsError):
            os.link(fresh, file)
    finally:
        fresh.unlink()
    files.sync_folder(file.parent)


def _load(file: Path, pem: bytes) -> CryptoSigner:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.signer import CryptoSigner  # type: ignore[attr-defined]

    try:
        key = load_pem_private_key(pem, None)
    except (ValueError, TypeError) as fault:
        raise _unusable(file, "it is not a private key as PEM") from fault
    if not isinstance(key, Ed25519PrivateKey):
        raise _unusable(file, "it is of another kind than Ed25519")
    return CryptoSigner(key)


def _unusable(file: Path, why: str) -> Refused:
    return refused(
        rule="secret",
        what=f"The key that evidence is signed with, {file}, cannot be used: {why}.",
        why="Evidence counts only where it is signed with a key that nobody else has.",
        would_change="Give it back to its user alone (chmod 600), make room where it is to stand, or move it away: a new one is made, and what the old one "
        "signed stays valid.",
        holders=(str(file),),
    )


def _refused(rule: str, what: str) -> Refused:
    return refused(
        rule=rule,
        what=what,
        why="Evidence counts only as it was signed, by a key that the history knows.",
        would_change="The checks run again, which writes new evidence.",
    )
