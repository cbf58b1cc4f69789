"""Packages whose version or presence one change alters and the other newly counts on; reading lock files is not here."""

from __future__ import annotations

import re
import sys

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.meet.delta import At, Delta
from interlock.core.merge.meet.modules import folder
from interlock.core.merge.meet.sides import Alarm, Tree

_IMPORTED_AS = {
    "pyyaml": "yaml",
    "beautifulsoup4": "bs4",
    "pillow": "PIL",
    "python-dateutil": "dateutil",
    "scikit-learn": "sklearn",
    "opencv-python": "cv2",
    "attrs": "attr",
    "python-dotenv": "dotenv",
    "pyjwt": "jwt",
    "protobuf": "google",
    "msgpack-python": "msgpack",
    "mysqlclient": "MySQLdb",
    "psycopg2-binary": "psycopg2",
    "pyserial": "serial",
    "gitpython": "git",
    "djangorestframework": "rest_framework",
}
_VERSION = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?")
_LOCKS = (
    *("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock"),
    *("uv.lock", "poetry.lock", "Cargo.lock", "Gemfile.lock", "go.sum"),
)
_PART = re.compile(r"(\^|~=|~>|~|>=|<=|==|!=|>|<|=)?\s*v?(\d+(?:\.(?:\d+|[x*]))*)")

Version = tuple[int, int, int]


def packages(breaker: Delta, user: Delta) -> list[Alarm]:
    """A new version that the other's new package does not bear, and a dependency taken out that the other newly imports."""
    found = []
    for (kind, name), places in breaker.marked.items():
        if kind == "package":
            found += [
                _locked(breaker, user, now, wanted)
                for now in places
                if now.mark.role == "defines" and now.mark.scope == "locked"
                for wanted in user.marked.get(("package", name), ())
                if wanted.mark.role == "uses"
                and _may_govern(now.path, wanted.path)
                and _held(breaker, user, now, wanted)
                and satisfies(now.mark.detail, wanted.mark.detail) is False
            ]
    for (kind, name), gone in breaker.lost.items():
        if kind == "package" and not _still_wanted(breaker, name):
            found += [
                alarm
                for old in gone
                if old.mark.role == "defines" and old.mark.scope == "wanted"
                for alarm in _removed(breaker, user, old, name)
            ]
    return found


def _may_govern(lock: str, wanted: str) -> bool:
    """Whether a lock file may be the one of a want: one of its own, or of a manifest in its folder or below it."""
    if wanted.rpartition("/")[2] in _LOCKS:
        return lock == wanted
    return not folder(lock) or wanted.startswith(f"{folder(lock)}/")


def _held(breaker: Delta, user: Delta, now: At, wanted: At) -> bool:
    """Whether the user's own lock file had what its manifest wants: if not, another place gives it, like a package of the project's own."""
    if now.path == wanted.path:
        return True
    mine, theirs = user.side.get(now.path), breaker.side.get(now.path)
    lock = mine.side if mine is not None else theirs.base if theirs is not None else None
    return lock is not None and any(
        satisfies(each.detail, wanted.mark.detail) is not False
        for each in lock.marks
        if (each.kind, each.name, each.scope) == ("package", now.mark.name, "locked")
    )


def _governs(tree: Tree, lock: str, wanted: str) -> bool:
    """Whether no other lock file is nearer to a manifest."""
    place = folder(wanted)
    while lock != wanted and place != folder(lock):
        if any(tree.has(f"{place}/{name}") for name in _LOCKS):
            return False
        place = folder(place)
    return True


def version(text: str) -> Version | None:
    """The first three numbers of a version."""
    found = _VERSION.match(text.strip().lstrip("v="))
    return (int(found[1]), int(found[2] or 0), int(found[3] or 0)) if found else None


def satisfies(text: str, wanted: str) -> bool | None:
    """Whether a version is in a range as npm, Cargo, Poetry or pip write it; None where the range is not understood."""
    have = version(text)
    if have is None or not wanted.strip() or re.search(r"[a-z]+:|/|\bfile\b", wanted):
        return None
    if wanted.strip() in {"*", "latest", "x"}:
        return True
    answers = [_all(have, part) for part in wanted.split("||")]
    return None if None in answers else any(answers)


def _all(have: Version, text: str) -> bool | None:
    if hyphen := re.fullmatch(r"\s*([\d.]+)\s+-\s+([\d.]+)\s*", text):
        low, high = version(hyphen[1]), version(hyphen[2])
        return low is not None and high is not None and low <= have <= high
    parts = _PART.findall(text)
    left = _PART.sub("", text).replace(",", "").strip()
    if not parts or left:
        return None
    return all(_one(have, sign, number) for sign, number in parts)


def _one(have: Version, sign: str, number: str) -> bool:  # noqa: PLR0911 -- one sign a case
    digits = [int(part) for part in number.split(".") if part.isdigit()]
    low: Version = (digits[0], digits[1] if len(digits) > 1 else 0, digits[2] if len(digits) > 2 else 0)
    match sign:
        case "^":
            fixed = next((place for place, digit in enumerate(low) if digit), 2) + 1
            return have >= low and have[: min(fixed, len(digits) or 1)] == low[: min(fixed, len(digits) or 1)]
        case "~" | "~>":
            return have >= low and have[: min(2, len(digits))] == low[: min(2, len(digits))]
        case "~=":
            return have >= low and have[: len(digits) - 1] == low[: len(digits) - 1]
        case ">=":
            return have >= low
        case "<=":
            return have <= low
        case ">":
            return have > low
        case "<":
            return have < low
        case "!=":
            return have[: len(digits)] != tuple(digits)
        case _:
            return have[: len(digits)] == tuple(digits[:3])


def _locked(breaker: Delta, user: Delta, now: At, wanted: At) -> Alarm:
    name = now.mark.name

    def check(tree: Tree) -> bool:
        facts, again = tree(now.path), tree(wanted.path)
        if facts is None or again is None or facts.fault or again.fault:
            return False
        locked = [
            each.detail
            for each in facts.marks
            if each.kind == "package" and each.name == name and each.scope == "locked"
        ]
        asked = any(
            (each.kind, each.name, each.role, each.scope, each.detail)
            == ("package", name, "uses", wanted.mark.scope, wanted.mark.detail)
            for each in again.marks
        )
        return (
            asked
            and bool(locked)
            and _governs(tree, now.path, wanted.path)
            and all(satisfies(each, wanted.mark.detail) is False for each in locked)
        )

    return Alarm(
        rule="lockfile",
        symbol=name,
        breaker=Spot(change=breaker.name, path=now.path, line=now.mark.line, text=f"{name} {now.mark.detail}"),
        user=Spot(change=user.name, path=wanted.path, line=wanted.mark.line, text=f"{name} {wanted.mark.detail}"),
        why=f"{breaker.name} puts {name} at {now.mark.detail} in {now.path}, and {wanted.mark.scope or wanted.path}, newly so in"
        f" {user.name}, wants {wanted.mark.detail}.",
        action=f"Make the lock file of {user.name} anew, after {breaker.name} has landed.",
        check=check,
        paths=(now.path, wanted.path),
    )


def _still_wanted(breaker: Delta, name: str) -> bool:
    return any(
        each.mark.role == "defines" and each.mark.scope == "wanted"
        for each in breaker.marked.get(("package", name), ())
    )


def _modules_of(package: str) -> set[str]:
    plain = package.lower()
    return {_IMPORTED_AS.get(plain, plain.replace("-", "_")), plain.removeprefix("python-").replace("-", "_"), package}


def _removed(breaker: Delta, user: Delta, old: At, name: str) -> list[Alarm]:
    script = old.path.endswith("package.json")
    below = old.path.removesuffix("package.json") if script else ""
    found: dict[str, Alarm] = {}
    for each in user.side.files:
        if each.side is None or each.path in found or not each.path.startswith(below):
            continue
        if each.side.language not in ({"typescript", "javascript"} if script else {"python"}):
            continue
        before = {_first(one.module, script=script) for one in each.base.imports} if each.base else set()
        for one in each.side.imports:
            first = _first(one.module, script=script)
            own = not script and first in sys.stdlib_module_names
            if first in ({name} if script else _modules_of(name)) and first not in before and not own:
                found[each.path] = _import_alarm(breaker, user, old, (each.path, one.line, first), script=script)
    return list(found.values())


def _first(module: str, *, script: bool) -> str:
    if not script:
        return module.partition(".")[0]
    parts = module.split("/")
    return "/".join(parts[:2]) if module.startswith("@") else parts[0]


def _manifests(path: str) -> list[str]:
    """Where a script may have its packages from: its folder and those above it."""
    found = ["package.json"]
    parts = path.split("/")[:-1]
    return found + ["/".join((*parts[: count + 1], "package.json")) for count in range(len(parts))]


def _import_alarm(breaker: Delta, user: Delta, old: At, where: tuple[str, int, str], *, script: bool) -> Alarm:
    path, line, first = where
    name = old.mark.name

    def check(tree: Tree) -> bool:
        facts, manifest = tree(path), tree(old.path)
        if facts is None or manifest is None or manifest.fault:
            return False
        named = any(
            each.kind == "package" and each.name == name and each.scope == "wanted"
            for place in (old.path, "pyproject.toml", "requirements.txt", *_manifests(path))
            if (known := tree(place)) is not None
            for each in known.marks
        )
        return not named and any(_first(one.module, script=script) == first for one in facts.imports)

    return Alarm(
        rule="removed-package",
        symbol=name,
        breaker=Spot(change=breaker.name, path=old.path, line=old.mark.line, text=name),
        user=Spot(change=user.name, path=path, line=line, text=first),
        why=f"{breaker.name} takes {name} out of {old.path}, and {user.name} newly imports {first} in {path}, line {line}.",
        action=f"Keep {name} in {breaker.name}, or do without it in {user.name}.",
        check=check,
        paths=(path, old.path),
    )
