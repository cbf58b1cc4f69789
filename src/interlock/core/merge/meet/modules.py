"""Which file a module's name means, by each language's own rules, and whether a file provides a name; what follows from it is not here."""

from __future__ import annotations

import posixpath

from interlock.core.merge.facts import FileFacts, Import, Use
from interlock.core.merge.meet.sides import Tree

_ROOTS = ("", "src", "lib", "python")
_SCRIPTS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".vue")
_MOST_HOPS = 6
FAMILY = {"typescript": "script", "javascript": "script"}
"""Languages that import each other's files."""


def family(facts: FileFacts) -> str:
    return FAMILY.get(facts.language, facts.language)


def folder(path: str) -> str:
    return path.rpartition("/")[0]


def python_parts(path: str) -> tuple[str, ...]:
    """The dotted parts of a Python file, from the top of the repository."""
    stem = path.removesuffix(".pyi").removesuffix(".py")
    parts = tuple(part for part in stem.split("/") if part)
    return parts[:-1] if parts and parts[-1] == "__init__" else parts


def absolute(importer: str, module: str) -> str:
    """A Python module as from the top: relative ones (``..x``) by the folder of the file that imports them."""
    dots = len(module) - len(module.lstrip("."))
    if not dots:
        return module
    parts = [part for part in folder(importer).split("/") if part]
    parts = parts[: len(parts) - (dots - 1)] if dots > 1 else parts
    return ".".join([*parts, *(part for part in module[dots:].split(".") if part)])


def names_file(importer: str, facts: FileFacts, module: str, target: str, found: FileFacts) -> bool:
    """Whether a module as written in one file may mean another file; told from names alone, so that it may say yes too often."""
    if family(facts) != family(found):
        return False
    match family(facts):
        case "python":
            return _python(importer, module, target)
        case "script":
            return _script(importer, module, target)
        case "go":
            return _package(importer, module, folder(target), own=folder(importer) == folder(target))
        case "java":
            stem = target.rpartition("/")[2].removesuffix(".java")
            own = facts.module == found.module
            return (not module and own) or module in {found.module, f"{found.module}.{stem}", stem}
        case _:
            return False


def _python(importer: str, module: str, target: str) -> bool:
    parts = python_parts(target)
    if module.startswith("."):
        return tuple(part for part in absolute(importer, module).split(".") if part) == parts
    asked = tuple(module.split(".")) if module else ()
    return bool(asked) and parts[-len(asked) :] == asked


def _script(importer: str, module: str, target: str) -> bool:
    if not module:
        return importer == target
    stem = _stem(target)
    if module.startswith("."):
        asked = posixpath.normpath(posixpath.join(folder(importer), module))
        return _stem(asked) in {stem, stem.removesuffix("/index")} or asked == stem.removesuffix("/index")
    alias = module.lstrip("@~#").lstrip("/")
    if module[:1] in "@~#" and module[1:2] == "/":
        return f"/{stem}".endswith(f"/{_stem(alias)}") or f"/{stem}".endswith(f"/{alias}/index")
    return "/" in module and module[:1] != "@" and stem in {_stem(module), f"src/{_stem(module)}", f"{module}/index"}


def folder_of(importer: str, module: str) -> str:
    """The folder whose index a script's relative import means, if it means one."""
    if not module.startswith("."):
        return ""
    return _stem(posixpath.normpath(posixpath.join(folder(importer), module))).removesuffix("/index")


def _stem(path: str) -> str:
    for end in _SCRIPTS:
        if path.endswith(end):
            return path.removesuffix(end).removesuffix(".d")
    return path


def _package(_: str, module: str, place: str, *, own: bool) -> bool:
    if not module:
        return own
    if own:
        return False
    if not place:
        # The package at the top has the path of the whole module: only one that begins with a host can be it.
        return "." in module.partition("/")[0]
    return module == place or module.endswith(f"/{place}")


def means(tree: Tree, importer: str, facts: FileFacts, module: str, target: str, found: FileFacts) -> bool:
    """Whether a module as written in one file means another file, with what the manifests of the tree say of it."""
    return names_file(importer, facts, module, target, found) and by_manifest(tree, facts, module, target)


def by_manifest(tree: Tree, facts: FileFacts, module: str, target: str) -> bool:
    """Whether an import of a Go package fits what the nearest ``go.mod`` calls it; yes for all else and where there is none."""
    place = folder(target)
    if family(facts) != "go" or module in {"", place}:
        return True
    above = place
    while True:
        manifest = tree(f"{above}/go.mod".lstrip("/"))
        if manifest is not None and manifest.module:
            return module == "/".join(part for part in (manifest.module, place[len(above) :].strip("/")) if part)
        if not above:
            return bool(place)
        above = folder(above)


def owners(importer: str, facts: FileFacts, use: Use, target: str, found: FileFacts) -> tuple[str, ...]:
    """What a use is taken from inside of a file, if it may mean that file: nothing for its top, or the type's name.

    ``from app import core; core.State.OPEN`` is ``OPEN`` of ``core.State`` from ``app``: in ``app/core.py`` the owner is ``State``.
    """
    parts = [part for part in use.of.split(".") if part]
    if parts and (alias := _module_alias(facts.imports, parts[0])) is not None and use.source in {"", alias.module}:
        parts, source = parts[1:], alias.module
    else:
        source = use.source
    answers = []
    for count in range(len(parts) + 1):
        module = ".".join(part for part in (source, *parts[:count]) if part) if count else source
        if source.endswith(".") and count:
            module = source + ".".join(parts[:count])
        if family(facts) != "python" and count:
            break
        if names_file(importer, facts, module, target, found):
            answers.append(".".join(parts[count:]))
    if importer == target and not source and not answers:
        answers.append(use.of)
    return tuple(answers)


def _module_alias(imports: tuple[Import, ...], local: str) -> Import | None:
    for each in imports:
        if each.local == local and each.name in {"", "*"}:
            return each
    return None


def resolve(tree: Tree, importer: str, module: str) -> str | None:
    """The file of a tree that a Python module is, by the roots that packages leave open; None where no file is it."""
    if module.startswith("."):
        return _file(tree, tuple(part for part in absolute(importer, module).split(".") if part))
    asked = tuple(part for part in module.split(".") if part)
    if not asked:
        return None
    place = folder(importer)
    above = []
    while place:
        above.append(place)
        place = folder(place)
    for root in (*_ROOTS, *above):
        if root and tree.has(f"{root}/__init__.py"):
            continue
        if (path := _file(tree, (*(part for part in root.split("/") if part), *asked))) is not None:
            return path
    return None


def _file(tree: Tree, parts: tuple[str, ...]) -> str | None:
    stem = "/".join(parts)
    for path in (f"{stem}.py", f"{stem}/__init__.py", f"{stem}.pyi"):
        if stem and tree.has(path):
            return path
    return None


def is_root_of(tree: Tree, target: str, module: str) -> bool:
    """Whether a Python file can be imported by that name: the folder above the name's parts is no package itself."""
    if module.startswith("."):
        return True
    parts = python_parts(target)
    asked = module.split(".")
    above = "/".join(parts[: len(parts) - len(asked)])
    return not above or not tree.has(f"{above}/__init__.py")


def provides(tree: Tree, path: str, name: str, hops: int = _MOST_HOPS) -> bool | None:
    """Whether a file of the tree has a name at its top: defined, imported, or by a star import; None where that cannot be told."""
    facts = tree(path)
    if facts is None:
        return False
    if facts.fault:
        return None
    if any(not each.owner and each.name == name for each in facts.symbols):
        return True
    if facts.language == "python":
        return _python_provides(tree, path, facts, name, hops)
    if any(name == (each.local or each.name) for each in facts.imports):
        return True
    return None if facts.open else False


def _python_provides(tree: Tree, path: str, facts: FileFacts, name: str, hops: int) -> bool | None:
    for each in facts.imports:
        if each.name != "*" and (each.local or each.name or each.module) == name:
            return True
    package = path.removesuffix("__init__.py").rstrip("/") if path.endswith("__init__.py") else ""
    if package and any(tree.has(f"{package}/{name}{end}") for end in (".py", "/__init__.py")):
        return True
    unsure = facts.open
    for each in facts.imports:
        if each.name == "*":
            behind = resolve(tree, path, each.module) if hops else None
            inner = provides(tree, behind, name, hops - 1) if behind else None
            if inner:
                return True
            unsure = unsure or inner is None
    return None if unsure else False
