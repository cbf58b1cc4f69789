"""Which changed files a checker judges by: its settings and the scripts that its command names; what became weaker there is the gate's."""

from __future__ import annotations

import configparser
import re
import tomllib
from typing import Any, Final

_OWN: Final = {
    "mypy": r"\.?mypy\.ini",
    "pyright": r"pyrightconfig\.json",
    "basedpyright": r"pyrightconfig\.json",
    "ruff": r"\.?ruff\.toml",
    "flake8": r"\.flake8",
    "pylint": r"\.?pylintrc(\.toml)?",
    "tsc": r"tsconfig.*\.json|jsconfig\.json",
    "eslint": r"eslint\.config\.\w+|\.eslintrc(\.\w+)?|\.eslintignore",
    "golangci-lint": r"\.golangci\.\w+",
    "cargo": r"clippy\.toml|\.clippy\.toml",
}
_SHARED: Final = frozenset({"pyproject.toml", "setup.cfg", "tox.ini"})
_WORD: Final = re.compile(r"[^\s'\"=;&|()]+")


def is_shared(path: str) -> bool:
    """Whether a file holds the settings of many tools, so that only its bytes tell whose changed."""
    return _name(path) in _SHARED


def judges_by(run: str, path: str, before: bytes | None = None, after: bytes | None = None) -> bool:
    """Whether a command judges by a file, by its name; of a shared file of settings the command's own sections must differ."""
    words = [word.removeprefix("./") for word in _WORD.findall(run)]
    name = _name(path)
    if path in words:
        return True
    tools = set(map(_name, words))
    if is_shared(path):
        return any(_section(name, tool, before) != _section(name, tool, after) for tool in tools & _OWN.keys())
    return any(re.fullmatch(_OWN[tool], name) for tool in tools & _OWN.keys())


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _section(name: str, tool: str, data: bytes | None) -> Any:
    """What a file of settings says to a tool; a file that cannot be read is unlike every other one."""
    text = (data or b"").decode("utf-8", "replace")
    try:
        if name == "pyproject.toml":
            return tomllib.loads(text).get("tool", {}).get(tool)
        parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
        parser.read_string(text)
    except (tomllib.TOMLDecodeError, configparser.Error, AttributeError):
        return text
    return {
        part: dict(parser[part]) for part in parser.sections() if re.split(r"[-:]", part)[0] in (tool, f"tool:{tool}")
    }
