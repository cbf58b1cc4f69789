"""Commands that the harness itself runs in a task's room, and a person's shell in it (ports.Commands); what for is the app's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from interlock.host import environment, processes, terminal
from interlock.host.sandbox import identity
from interlock.host.text import last_lines
from interlock.ports.isolation import Room
from interlock.ports.processes import Done


class HostCommands:
    """Commands of this machine, each within the walls of its room.

    ``contain`` False does without a pid namespace at level worktree.
    """

    def __init__(self, *, contain: bool = True) -> None:
        self._contain = contain

    def run(
        self,
        command: str,
        room: Room,
        env: Mapping[str, str],
        log: Path,
        *,
        seconds: float,
        redact: tuple[str, ...] = (),
    ) -> Done:
        """Run ``bash -eo pipefail -c command`` in the tree and wait; all that it started is gone when this returns.

        Raises OSError when the log cannot be written, Refused (root) without a sandbox as root.
        """
        if room.sandbox is None:
            identity.refuse_root()
        log.parent.mkdir(parents=True, exist_ok=True)
        ended = processes.run(
            ("bash", "-eo", "pipefail", "-c", command),
            env=environment.of_room(env, room),
            cwd=room.path,
            log=log,
            limits=processes.Limits(wall=seconds),
            contain=self._contain,
            sandbox=room.sandbox,
            redact=redact,
        )
        return Done(
            code=ended.exit_code if ended.how == "exited" else None,
            seconds=ended.seconds,
            tail="\n".join(filter(None, (last_lines(log), ended.message))),
            timed_out=ended.how == "wall-limit",
        )

    def shell(self, argv: Sequence[str], room: Room, env: Mapping[str, str]) -> int:
        """Hand the terminal to a command in the tree; gives its exit code, or 128 and more for a signal.

        127 or 126 where it cannot be started.  Raises Refused (root, sandbox).
        """
        if room.sandbox is None:
            identity.refuse_root()
        return terminal.hand_over(argv, env=environment.of_room(env, room), cwd=room.path, sandbox=room.sandbox)
