"""What one file says that other changes could break, as values; reading files is adapters.facts' work, meeting them meet's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Language = Literal["python", "typescript", "javascript", "go", "java", "sql", "shell", "data", "other"]
SymbolKind = Literal[
    "function", "method", "class", "interface", "type", "constant", "variable", "field", "member", "module"
]
MarkKind = Literal[
    "env", "flag", "key", "route", "fixture", "migration", "table", "column", "package", "registration", "revision"
]

VERSION: Final = 1
"""Counted up when files are read in another way, so that no kept fact of an older reader is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a call must give: positional arguments at least and at most (None: any number), names it may and must give.

    ``required`` counts those that may stand by position and have no default; ``must`` are keyword-only ones without a default.
    ``result`` is the declared type of what comes back, as written.
    """

    required: int = 0
    most: int | None = 0
    names: tuple[str, ...] = ()
    must: tuple[str, ...] = ()
    any_name: bool = False
    result: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """Something that a file defines.

    ``owner`` is the class, interface or enum around it (empty at the top); ``public`` that other files may use it
    by the language's own rules; ``abstract`` that a subtype must define it; ``bases`` are the types it extends or implements,
    as written.  ``line`` counts from 1.
    """

    name: str
    kind: SymbolKind
    line: int
    owner: str = ""
    public: bool = True
    abstract: bool = False
    signature: Signature | None = None
    bases: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        return f"{self.owner}.{self.name}" if self.owner else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The arguments of a call: how many by position, which by name, and whether some are spread, so that neither is sure."""

    positional: int = 0
    names: tuple[str, ...] = ()
    spread: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A name that a file uses and does not define itself there.

    ``source`` is where it comes from as far as the file tells: the module of the import (as written), or the package; empty
    when it is not known.  ``of`` is what it is taken from: the type or variable before the dot, resolved to a class name
    where the file shows that.  ``call`` is None where it is not called.
    """

    name: str
    line: int
    source: str = ""
    of: str = ""
    call: Call | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """A name that a file takes from a module; ``name`` is empty when it takes the module itself, ``*`` for all of it."""

    module: str
    line: int
    name: str = ""
    local: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something named by a text and not by a symbol: an environment variable, a flag, a key, a route, a column.

    ``role`` says whether the file defines or uses it; ``scope`` what it belongs to: the table of a column, the folder of a
    migration, the function whose result has the key; ``detail`` what two that are equal may still differ in: the version of a
    package, what a migration or revision stands on.
    """

    kind: MarkKind
    name: str
    line: int
    role: Literal["defines", "uses"]
    scope: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """All that is known of one version of a file.

    ``fault`` says why it could not be read as its language; then nothing else is known, and that is said, never taken for
    nothing found.  ``text`` is true where only tokens were looked at.
    """

    language: Language
    module: str = ""
    symbols: tuple[Symbol, ...] = ()
    uses: tuple[Use, ...] = ()
    imports: tuple[Import, ...] = ()
    marks: tuple[Mark, ...] = ()
    text: bool = False
    fault: str = ""
