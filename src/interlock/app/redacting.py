"""What must not reach the record of an attempt, and texts without it; where that cannot be told, the texts are withheld."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from interlock.app.base import POLICY_FILE, last_view
from interlock.app.cardjson import from_json
from interlock.app.database import password_of
from interlock.app.isolate import environment_of
from interlock.core.contract.around import Secret
from interlock.core.contract.policy import Policy
from interlock.core.job.lifecycle import Job
from interlock.core.problems import BadInput, InterlockError, Refused
from interlock.core.redact import redact_text
from interlock.ports.bundle import Ports

_WORD: Final = re.compile(r"[a-z][a-z_]{0,20}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """The texts to leave out, and the names of secrets whose text cannot be had: with one of those, every text is withheld."""

    texts: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What stands in the place of a text that is withheld."""
        return f"[withheld: it may hold {', '.join(self.unknown)}, which cannot be read now to be left out]"

    def text(self, said: str) -> str:
        """A text as it may stand on the record."""
        if self.unknown:
            return self.note if said.strip() else said
        return redact_text(said, self.texts)

    def value(self, said: Any) -> Any:
        """The same shape with each of its texts as it may stand on the record; plain words that name its parts stay."""
        match said:
            case str():
                return self.text(said)
            case list() | tuple():
                return [self.value(each) for each in said]
            case dict():
                return {self._name(str(key)): self.value(each) for key, each in said.items()}
            case _:
                return said

    def parts(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """The same for a shape whose parts have names of ours, which stay even where a secret is such a word."""
        return {key: self.value(each) for key, each in said.items()}

    def _name(self, key: str) -> str:
        return key if self.unknown and _WORD.fullmatch(key) else self.text(key)


def redaction(ports: Ports, job: Job, number: int) -> Redaction:
    """What one attempt was handed: its secrets, by the policy that it was started under and the present one, and its database's password.

    A policy that broke meanwhile does not keep an attempt from its end: the one of the start says where its secrets were from.
    """
    event = ports.store.event(job.id, number, "start")
    begun = event.data if event is not None else {}
    card = from_json(job.card)
    texts, unknown = [], []
    policies = tuple(_policies(ports, begun.get("rules_at"))) if (names := _names(begun, card.needs.secrets)) else ()
    for name in names:
        sources = dict.fromkeys(source for policy in policies if (source := policy.secret(name)) is not None)
        values = [_value(ports, source) for source in sources]
        texts += [value for value in values if value is not None]
        unknown += [name] if not values or None in values else []
    if card.needs.database:
        try:
            texts += password_of(environment_of(ports, job).get("DATABASE_URL", ""))
        except (OSError, ValueError):
            unknown.append("DATABASE_URL")
    if unknown:
        ports.narrate(
            f"{job.slug}: what attempt {number} said is kept off the record, since {', '.join(unknown)} cannot be read now to be "
            "left out of it; its log has it, without what it was handed."
        )
    return Redaction(texts=tuple(texts), unknown=tuple(unknown))


def _names(begun: Any, now: tuple[str, ...]) -> tuple[str, ...]:
    """The secrets of the card as it was when the attempt started, and as it is."""
    return tuple(dict.fromkeys((*begun.get("secrets", ()), *now)))


def _policies(ports: Ports, at: str | None) -> Iterator[Policy]:
    """The policy that stood on a commit, and the present one, as far as they can be read."""
    if at is not None:
        with suppress(InterlockError):
            policy, problems = ports.files.policy(ports.repo.read(at, POLICY_FILE) or b"", POLICY_FILE)
            if not problems:
                yield policy
    with suppress(BadInput):
        yield last_view(ports).policy


def _value(ports: Ports, source: Secret) -> str | None:
    try:
        return ports.secrets.read(source)
    except Refused:
        return None
