"""Tells the number, the name and the parents of a migration by its path and text, for the tools that count them; SQL itself is sql's."""

from __future__ import annotations

import re
from typing import Final

from interlock.core.merge.facts import Mark

_FOLDER: Final = re.compile(
    r"(?:^|/)(?:db/)?(?:migrations?|migrate|schema_migrations|changesets?|flyway)(?:/|$)|db/migration"
)
_SQL_FOLDER: Final = re.compile(r"(?:^|/)(?:db|database|schema|sql)(?:/|$)")
_NUMBERED: Final = re.compile(r"(\d{1,6})[_.-](\w[\w.-]*)")
_STAMPED: Final = re.compile(r"(\d{8,17})[_.-](\w[\w.-]*)")
_FLYWAY: Final = re.compile(r"V(\d+(?:[._]\d+)*)__(.+)\.(?:sql|java|kt|py)")
_ENDS: Final = (".up.sql", ".down.sql", ".sql", ".py", ".rb", ".js", ".ts", ".php", ".go", ".exs", ".ex")
_DEPENDS: Final = re.compile(r"dependencies\s*(?::[^=\n]+)?=\s*\[(.*?)\]", re.DOTALL)
_PAIR: Final = re.compile(r"\(\s*['\"](\w+)['\"]\s*,\s*['\"](\w+)['\"]\s*,?\s*\)")
_REVISION: Final = re.compile(r"^revision\s*(?::[^=\n]+)?=\s*['\"]([\w.-]+)['\"]", re.MULTILINE)
_DOWN: Final = re.compile(r"^down_revision\s*(?::[^=\n]+)?=\s*(\([^)]*\)|\[[^\]]*\]|[^\n#]+)", re.MULTILINE)
_QUOTED: Final = re.compile(r"['\"]([\w.-]*)['\"]")


def migration_marks(path: str, data: bytes) -> tuple[Mark, ...]:
    """The marks of a migration: ``migration`` for a number that only one may have, ``revision`` for a place in a chain."""
    folder, _, name = path.rpartition("/")
    text = data[:20_000].decode("utf-8", "replace") if name.endswith(".py") else ""
    if found := _REVISION.search(text):
        if (down := _DOWN.search(text)) is not None:
            parents = ",".join(each for each in _QUOTED.findall(down[1]) if each)
            return (Mark(kind="revision", name=found[1], line=1, role="defines", scope=folder, detail=parents),)
        return ()
    if name.endswith(".py") and "Migration" in text and re.search(r"class Migration\b", text):
        return _django(folder, name, text)
    if flyway := _FLYWAY.fullmatch(name):
        number = ".".join(str(int(part)) for part in re.split(r"[._]", flyway[1]))
        return (Mark(kind="migration", name=number, line=1, role="defines", scope=folder, detail=flyway[2]),)
    return _numbered(folder, name)


def _django(folder: str, name: str, text: str) -> tuple[Mark, ...]:
    """A Django migration is a place in the chain of its app; two of one number do no harm if one stands on the other."""
    app = folder.removesuffix("/migrations").rpartition("/")[2]
    found = _DEPENDS.search(text)
    pairs = _PAIR.findall(found[1]) if found else []
    parents = ",".join(each for label, each in pairs if label == app)
    return (Mark(kind="revision", name=name.removesuffix(".py"), line=1, role="defines", scope=folder, detail=parents),)


def _numbered(folder: str, name: str) -> tuple[Mark, ...]:
    end = next((each for each in _ENDS if name.endswith(each)), None)
    known = _FOLDER.search(folder) or (name.endswith(".sql") and _SQL_FOLDER.search(folder))
    if end is None or not known or end == ".down.sql" or ".down." in name:
        return ()
    stem = name.removesuffix(end)
    if stamped := _STAMPED.fullmatch(stem):
        # Two that were made in one second clash in Rails and in most runners; Knex and its kin go by the whole name.
        if end in {".js", ".ts"}:
            return ()
        number = stamped[1]
        return (Mark(kind="migration", name=number, line=1, role="defines", scope=folder, detail=stamped[2]),)
    if numbered := _NUMBERED.fullmatch(stem):
        return (
            Mark(
                kind="migration", name=str(int(numbered[1])), line=1, role="defines", scope=folder, detail=numbered[2]
            ),
        )
    return ()
