"""How a host is named in cards and in the policy; which of them a task reaches is the allow-list's to say."""

from __future__ import annotations

import re
from typing import Final

HOST_NAME: Final = re.compile(r"(\*\.)?(?!-)[a-z0-9-]+(\.[a-z0-9-]+)*")
NO_HOST: Final = "A host is named in lower case, without a scheme, a port or a path; *. before it means all below it."


def is_local(name: str) -> bool:
    """Whether a name means the machine that asks, which inside a task is the task itself."""
    return name == "localhost" or name.endswith(".localhost")


def host_in(text: str) -> str | None:
    """The host that a URL or an address with a port was meant to name, or None when there is none in it."""
    found = re.sub(r"^[a-z][a-z0-9+.-]*://", "", text.strip().lower())
    found = re.split(r"[/?#]", found, maxsplit=1)[0].rpartition("@")[2].partition(":")[0]
    return found if HOST_NAME.fullmatch(found) and not is_local(found) else None
