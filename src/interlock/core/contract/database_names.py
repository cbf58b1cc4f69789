"""Names, marks and digests of tasks' databases, as pure text that cannot collide; making and finding them is adapters' work."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Final, Literal, Protocol
from urllib.parse import unquote, urlsplit

LIMIT: Final = 63
"""Bytes of a name that PostgreSQL keeps; it cuts off the rest without a word."""

HASH: Final = 20
"""Characters of a hash in a name, five bits each."""

OWNER: Final = 8
"""Characters of the random text that tells one repository's databases from everybody else's."""

Kind = Literal["branch", "pool", "template", "making", "role"]

_KINDS: Final[dict[str, Kind]] = {"b": "branch", "p": "pool", "t": "template", "m": "making", "r": "role"}
_LETTERS: Final = {kind: letter for letter, kind in _KINDS.items()}
_OWNER: Final = re.compile(r"[a-z2-7]{8}")


class Named(Protocol):
    """What ``same_database`` asks of a branch (ports.Branch)."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What stands in the comment on a role or database of ours.

    ``database`` is the policy's name of it, ``key`` the template's, ``role`` who owns what is in a template, and
    ``used`` when it was last copied, in milliseconds since the epoch.
    """

    owner: str
    database: str
    task: str = ""
    key: str = ""
    role: str = ""
    used: int = 0


def hashed(*parts: str) -> str:
    """A hundred bits of the parts, which no other list of parts has: lower case letters and digits."""
    whole = json.dumps(parts).encode()
    return base64.b32encode(hashlib.sha256(whole).digest()).decode().lower()[:HASH]


def prefix(owner: str, kind: Kind) -> str:
    """What all names of one kind begin with.  Raises ValueError for a malformed owner."""
    if not _OWNER.fullmatch(owner):
        raise ValueError(owner)
    return f"ilk_{owner}_{_LETTERS[kind]}_"


def branch_name(owner: str, database: str, task: str) -> str:
    """The name of a task's database: readable, and no other task's."""
    return _readable(prefix(owner, "branch"), f"{task}_{database}", hashed("branch", owner, database, task))


def template_name(owner: str, database: str, key: str) -> str:
    """The name of the prepared template of one key."""
    return _readable(prefix(owner, "template"), database, hashed("template", owner, database, key))


def pool_prefix(owner: str, database: str, key: str) -> str:
    """What the names of ready branches of one key begin with; a random text follows."""
    return f"{prefix(owner, 'pool')}{hashed('pool', owner, database, key)}_"


def file_name(database: str, task: str) -> str:
    """The name of a task's file database, no other task's."""
    return _readable("", f"{task}_{database}", hashed("file", database, task)) + ".sqlite3"


def kind_of(owner: str, name: str) -> Kind | None:
    """What a database or role of this name is to this owner; None for a foreign one."""
    for kind in _LETTERS:
        if name.startswith(prefix(owner, kind)) and len(name) > len(prefix(owner, kind)):
            return kind
    return None


def comment(mark: Mark) -> str:
    """The mark as the text of a comment; ``read_mark`` reads it back."""
    filled = {name: value for name, value in asdict(mark).items() if value}
    return f"interlock {json.dumps(filled, sort_keys=True)}"


def read_mark(text: str | None) -> Mark | None:
    """The mark that a comment holds, or None: whoever owns a database can write anything there."""
    if text is None or not text.startswith("interlock "):
        return None
    try:
        found = Mark(**json.loads(text.removeprefix("interlock ")))
    except (ValueError, TypeError, RecursionError):
        return None
    texts = (found.owner, found.database, found.task, found.key, found.role)
    return found if all(isinstance(each, str) for each in texts) and isinstance(found.used, int) else None


def digest(commands: Iterable[str | None], files: Iterable[tuple[str, str]]) -> str:
    """The digest of a baseline: its commands, and (path, object name) of each file that its patterns match on the base."""
    whole = json.dumps([list(commands), sorted(set(files))])
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


def same_database(printed: str, branch: Named) -> bool:
    """Whether the last line that a probe printed, a name, a path or a URL, names exactly this task's database (DB-04)."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    if not lines:
        return False
    last = lines[-1].strip("'\"")
    if "://" in last:
        try:
            last = unquote(urlsplit(last).path)
        except ValueError:
            return False
    return last.rpartition("/")[2] == branch.name


def _readable(begin: str, text: str, end: str) -> str:
    """Begin, as much of the text as has room, and end, in at most ``LIMIT`` bytes."""
    room = LIMIT - len(begin) - len(end) - 1
    readable = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:room].strip("_")
    return f"{begin}{readable or 'x'}_{end}"
