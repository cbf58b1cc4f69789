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

VERSION: Final = 6
"""Counted up when files are read in another way, so that no kept fact of an older reader is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a call must give: positional arguments at least and at most (None: any number), names it may and must give.

    ``required`` counts those that may stand by position and have no default; ``must`` are keyword-only ones without a default.
    ``result`` is the declared type of what comes back, as written; for Python that of an async function is
    ``Coroutine[…]``, and where none is declared what every return shows (``tuple[_, _]``, ``dict``, ``None``).
    ``names`` stand in the order of declaration; ``only`` counts the leading positional ones that have no usable name.
    ``unsure`` says that a decorator or the like may change what a call must give: then no call is judged.
    """

    required: int = 0
    most: int | None = 0
    names: tuple[str, ...] = ()
    must: tuple[str, ...] = ()
    any_name: bool = False
    result: str = ""
    only: int = 0
    unsure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """Something that a file defines.

    ``owner`` is the class, interface or enum around it (empty at the top); ``public`` that other files may use it
    by the language's own rules; ``abstract`` that a subtype must define it; ``bases`` are the types it extends or implements,
    as written.  ``line`` counts from 1.
    ``static`` says that a method is called on the type itself; ``raises`` the exceptions that it raises by name;
    ``shape`` is what else of it others can notice, as words: the declared type of a field, ``final``, ``readonly``, ``override``,
    how many types it is given (``<1>``).
    ``digest`` stands for the whole of it, names aside, so that a renamed or doubled one is known.
    The signature of a class is that of making one; of a method it leaves out the receiver.
    """

    name: str
    kind: SymbolKind
    line: int
    owner: str = ""
    public: bool = True
    abstract: bool = False
    signature: Signature | None = None
    bases: tuple[str, ...] = ()
    static: bool = False
    raises: tuple[str, ...] = ()
    digest: str = ""
    shape: str = ""

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
    For scripts, Go and Java ``of`` may be a chain (see meet.chains): a beginning and steps after ``//``, followed in a tree; a
    name that begins with ``=`` is no name but a literal, a switch, a function or a value at the end of such a chain.
    ``of`` is ``?`` for a receiver that the file does not tell, and ends with ``()`` for what a function gives back.  In Python it
    may be a way of several steps, followed in the merged tree: ``Shop.orders()[].customer`` (``[]``: of a loop, ``{}``: an item,
    ``#1``: the second of several values).  Python tells
    the names of the file's own top level too, with its own module as the source, so that a merged file can be judged.
    ``then`` is what is done with the value: ``await``, ``arith``, ``iterate``, ``index``, ``key:NAME``, ``attr:NAME``, ``unpack:N``,
    ``call``, ``with``, ``async with``, ``async iterate``, ``none`` and ``tested`` (asked whether it is there), ``decorates``;
    ``calls:NAME:N`` (a function of N as the argument of that name or place), ``awaited:NAME`` (a member of what is awaited), ``every:A,B`` (each case of it, without a rest),
    ``fill:N`` (made of N values by place), ``lambda:N`` (written as a function of N), ``gives:N:TYPE`` (of the file's own type,
    as the Nth argument), ``calls back:N`` (a function as the Nth and last argument), ``types:N``, ``set``, ``extend``; ``caught`` the exceptions that are caught around it; ``on_type`` that it is taken from the type, not from one of it.
    """

    name: str
    line: int
    source: str = ""
    of: str = ""
    call: Call | None = None
    then: tuple[str, ...] = ()
    caught: tuple[str, ...] = ()
    on_type: bool = False


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

    ``role`` says whether the file defines, uses, or (a migration: a table, a column) removes it; ``scope`` what it belongs to: the table of a column, the folder of a
    migration, the function whose result has the key; ``detail`` what two that are equal may still differ in: the version of a
    package, what a migration or revision stands on.
    """

    kind: MarkKind
    name: str
    line: int
    role: Literal["defines", "uses", "removes"]
    scope: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """All that is known of one version of a file.

    ``fault`` says why it could not be read as its language; then nothing else is known, and that is said, never taken for
    nothing found.  ``text`` is true where only tokens were looked at.  ``open`` says that the file may provide names that are
    not among its symbols and imports (a star import, a module's ``__getattr__``): then none of them is called missing.
    """

    language: Language
    module: str = ""
    symbols: tuple[Symbol, ...] = ()
    uses: tuple[Use, ...] = ()
    imports: tuple[Import, ...] = ()
    marks: tuple[Mark, ...] = ()
    text: bool = False
    fault: str = ""
    open: bool = False
