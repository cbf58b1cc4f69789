"""What is really started for each kind of check: plain commands, migrations twice, programs that are waited for; running is the runner's."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from interlock.adapters.checks.report_files import Asked, Unfit
from interlock.core.contract.card import Check
from interlock.core.contract.surfaces import Wait
from interlock.core.gate.line_patterns import matcher
from interlock.host import text

_SHELL: Final = ("bash", "-eo", "pipefail", "-c")
_STATE: Final = """
bash -eo pipefail -c "$1"
bash -eo pipefail -c "$2" > "$3/first"
"""
_TWICE: Final = """
bash -eo pipefail -c "$1"
bash -eo pipefail -c "$2" > "$3/second"
if [ -n "$4" ]; then bash -eo pipefail -c "$4" > "$3/heads"; fi
shopt -s globstar nullglob
IFS=$'\n'
for file in $5; do
  if [ -f "$file" ]; then
    printf '%s\n' "$file" >> "$3/files"
    case $file in *.py) grep -HE '^(down_)?revision' -- "$file" >> "$3/revisions" || true ;; esac
  fi
done
"""
# The program runs beside a loop that asks its port; $2 is a word that it cannot know, so that only the loop says it.
_WAITED: Final = """
answers() {
  local line
  { exec 3<>"/dev/tcp/$3/$4"; } 2>/dev/null || return 1
  printf 'GET %s HTTP/1.0\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n' "$5" "$3:$4" >&3
  IFS= read -r -t 5 line <&3
  exec 3<&- 3>&-
  case $line in "HTTP/1."?" "[23][0-9][0-9]*) return 0 ;; *) return 1 ;; esac
}
if [ -n "$4" ]; then
  if answers "$@"; then echo "$2 taken"; exit 97; fi
  ( until answers "$@"; do sleep 0.1; done; echo "$2 up" ) &
  asking=$!
fi
bash -eo pipefail -c "$1"
status=$?
if [ -n "$4" ]; then kill "$asking" 2>/dev/null; wait "$asking" 2>/dev/null; fi
exit "$status"
"""
_VALUE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_LOCAL: Final = ("127.0.0.1", "localhost")
_READ_MOST: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Command:
    """What is started, and the watcher that ends it once it is up."""

    argv: tuple[str, ...]
    watcher: Watcher | None = None


def command_of(check: Check, asked: Asked, env: Mapping[str, str], log: Path) -> Command:
    """The command of a check.  Raises Unfit for a URL that names another machine, or a value that is not set."""
    if check.wait is not None:
        word = f"interlock-{secrets.token_hex(8)}"
        host, port, path = _url(check.wait.url, env) if check.wait.url else ("", "", "")
        argv = ("bash", "-c", _WAITED, "check", asked.command, word, host, port, path)
        return Command(argv, Watcher(check.wait, log, word))
    if check.state is None:
        return Command((*_SHELL, asked.command))
    script = _STATE + _TWICE if check.kind == "migrations" else _STATE
    heads, files = check.heads or "", "\n".join(check.files)
    return Command((*_SHELL, script, "check", asked.command, check.state, asked.inside, heads, files))


def _url(url: str, env: Mapping[str, str]) -> tuple[str, str, str]:
    missing = [name for pair in _VALUE.findall(url) if (name := pair[0] or pair[1]) not in env]
    if missing:
        raise Unfit("service", f"The URL {url} needs {missing[0]}, which the check's environment does not have.")
    full = _VALUE.sub(lambda found: env[found[1] or found[2]], url)
    parts = urlsplit(full)
    try:
        port = parts.port or 80
    except ValueError as fault:
        raise Unfit("service", f"The URL {full} has no port that could be asked.") from fault
    if parts.scheme != "http" or parts.hostname not in _LOCAL or not full.isprintable():
        raise Unfit("service", f"The URL {full} is not one of this machine: http://127.0.0.1:PORT/PATH is asked.")
    return "127.0.0.1", str(port), (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


class Watcher:
    """Watches the log of a program that was started, and says ``up`` when it was up for long enough.

    It is asked by the keeper's loop, so the time is counted in the calls of a clock that it is given.
    """

    def __init__(self, wait: Wait, log: Path, word: str, clock: Callable[[], float] | None = None) -> None:
        import time

        self._wait = wait
        self._log = log
        self._word = word
        self._clock = clock or time.monotonic
        self._line_seen = wait.line is None
        self._answered = wait.url is None
        self._matches = matcher(wait.line) if wait.line is not None else None
        self._read = 0
        self._rest = b""
        self._since: float | None = None
        self.taken = False

    @property
    def up(self) -> bool:
        return self._line_seen and self._answered

    def __call__(self) -> str | None:
        self.look()
        if self.taken:
            return "taken"
        if not self.up:
            return None
        if self._since is None:
            self._since = self._clock()
        return "up" if self._clock() - self._since >= self._wait.stays else None

    def look(self, *, last: bool = False) -> None:
        """Take in what was written since the last look; at the ``last`` one also a line without an end."""
        try:
            with self._log.open("rb") as file:
                file.seek(self._read)
                fresh = file.read(_READ_MOST)
        except OSError:
            return
        self._read += len(fresh)
        *lines, self._rest = (self._rest + fresh).split(b"\n")
        for line in (*lines, self._rest) if last else lines:
            self._take(text.plain(line))

    def _take(self, line: str) -> None:
        if line.startswith(self._word):
            self._answered |= line.endswith(" up")
            self.taken |= line.endswith(" taken")
        elif self._matches is not None and self._matches(line):
            self._line_seen = True
