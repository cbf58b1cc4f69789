"""What holds a run: a sandbox, a pid namespace or only a keeper, as the words to start it and who stands before the command."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from interlock.core.problems import Refused, refused
from interlock.core.sandbox import Bind, Sandbox
from interlock.host import namespace, procfs, tree

_ROOT: Final = str(Path(__file__).resolve().parent.parent.parent)
_KEEPER: Final = "import sys; sys.path.append(sys.argv[1]); from interlock.host.keeper import main; main()"
_RELAY_PID: Final = 2
"""Inside: the keeper is 1, and it starts the relays before anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """How the keeper is started: ``argv`` takes its two descriptors, and ``descriptors`` go along.

    ``depth`` counts the processes between the first one and the command; ``relays`` tells that the keeper has a
    process of ours below it.
    """

    argv: Callable[[int, int], list[str]]
    cwd: Path
    descriptors: tuple[int, ...] = ()
    depth: int = 0
    namespace: bool = False
    relays: bool = False

    def commands(self, first: int) -> tuple[tree.Identity, ...]:
        """The processes of the command, nearest first, below the first process of the run."""
        below = tree.descendants(first)[self.depth :]
        if self.relays:
            below = tuple(who for who in below if procfs.inner_pid(who.pid) != _RELAY_PID)
        return below


@contextmanager
def holder(sandbox: Sandbox | None, folder: Path, cwd: Path, *, contain: bool) -> Iterator[Holder]:
    """The holder for one run; what it needs outside, such as the sandbox's sockets, is there within the ``with``.

    ``folder`` is for files of the run.  Raises Refused (sandbox, root) where the sandbox cannot be made.
    """
    if sandbox is not None:
        with sandboxed(sandbox, folder) as found:
            yield found
        return
    words = namespace.prefix() if contain else None
    mode = "namespace" if words else "subreaper"

    def argv(control: int, status: int) -> list[str]:
        start = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _KEEPER, _ROOT]
        return [*(words or ()), *start, str(control), str(status), mode]

    yield Holder(argv=argv, cwd=cwd, depth=1 if words else 0, namespace=words is not None)


@contextmanager
def sandboxed(sandbox: Sandbox, folder: Path | None, *, terminal: bool = False) -> Iterator[Holder]:
    """The holder that is a sandbox, its network served meanwhile; without a folder of the run one is made for that.

    Raises as ``holder`` does.
    """
    from interlock.host.network import settings
    from interlock.host.sandbox import command, own_tools

    with ExitStack() as stack:
        try:
            sockets = stack.enter_context(_network(sandbox, folder))
        except (OSError, ValueError) as fault:
            raise _no_network(fault) from fault
        walls = stack.enter_context(command.walls(sandbox, more=sockets, terminal=terminal))
        relays = settings.relays_inside(sandbox)
        words = [f"write={path}" for path in command.writable(sandbox, sockets)]
        words += [f"relay={relay.listen},{relay.connect}" for relay in relays]
        words += ["terminal"] if terminal else []

        def argv(control: int, status: int) -> list[str]:
            return [*walls.words, *own_tools.keeper(control, status, "sandbox", *words)]

        yield Holder(
            argv=argv,
            cwd=Path("/"),
            descriptors=walls.descriptors,
            depth=walls.depth,
            namespace=True,
            relays=bool(relays),
        )


@contextmanager
def _network(sandbox: Sandbox, folder: Path | None) -> Iterator[tuple[Bind, ...]]:
    """The sockets of gate, proxy and outward relays, served by a thread of this process."""
    if not (sandbox.hosts or sandbox.gate or sandbox.outward):
        yield ()
        return
    from interlock.host.network import porter

    with ExitStack() as stack:
        place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="interlock-")))
        yield stack.enter_context(porter.serving(sandbox, place))


def _no_network(fault: Exception) -> Refused:
    return refused(
        rule="sandbox",
        what="The sandbox's sockets cannot be served.",
        why=f"{fault}.".replace("..", "."),
        would_change="See to the address that it names, and try again.",
    )
