"""What shows how changes meet before they do: heads merged in a place thrown away, facts of files, diagnostics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from interlock.ports.isolation import Place

if TYPE_CHECKING:  # every verb imports the ports, and few need what these are of
    from interlock.core.merge.differential import Diagnostic
    from interlock.core.merge.facts import FileFacts
    from interlock.core.merge.melted import Clash, Matrix, MergedTree


class Melting(Protocol):
    """Heads merged on one base in a place that is thrown away; no driver, filter or hook of the repository is run."""

    def matrix(self, heads: Sequence[str]) -> Matrix:
        """Every head against the base, and every pair of them, exactly as git merges.  Raises GitFailed."""
        ...

    def merged(self, pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], MergedTree | None]:
        """What pairs of heads make together on the base, None for those that clash; one process for all of them."""
        ...

    def paths(self) -> tuple[str, ...]:
        """Every path of the base."""
        ...

    def read(self, specs: Sequence[str]) -> tuple[bytes | None, ...]:
        """Files by their object, or as TREE:PATH; None for what is not there."""
        ...

    def oids(self, paths: Sequence[str]) -> tuple[str | None, ...]:
        """The objects of files of the base; None for what is not there or is no file."""
        ...

    def placed(self, clashes: Sequence[Clash]) -> tuple[Clash, ...]:
        """The clashes with their lines, where contents clash."""
        ...

    def times(self, heads: Sequence[str]) -> Mapping[str, float]:
        """When each head was committed, in seconds since the epoch."""
        ...

    def present(self, place: Place, head: str) -> str | None:
        """What a task's tree holds now as a commit on ``head``, made here alone; None where that is the head itself.

        Git runs in the trusted mirror's settings, never in the task's.  Raises Refused, GitFailed where it cannot be told.
        """
        ...


class FactsReader(Protocol):
    """Reads what one version of a file says that other changes could break; once for a path and an object name."""

    def looks_at(self, path: str) -> bool:
        """Whether a file of that path can say anything; others need not be fetched."""
        ...

    def known(self, path: str, oid: str) -> FileFacts | None:
        """The facts as kept, without the bytes; None where the file has to be read."""
        ...

    def read(self, path: str, oid: str, data: bytes) -> FileFacts:
        """The facts of a file; its fault says why there are none.  Never raises for what stands in it."""
        ...


class Diagnosing(Protocol):
    """Reads what a checker wrote."""

    def read(self, text: str, reads: Literal["lines", "sarif"], roots: Sequence[str]) -> tuple[Diagnostic, ...] | None:
        """Its findings, with paths as the repository names them where they lie below one of ``roots``; None where it is not of that form."""
        ...
