"""How a Python name is written, and which names stand for the platform, for all parts that read tests; judging is theirs."""

from __future__ import annotations

import ast
import re
from typing import Final

_PLATFORM: Final = ("sys.platform", "os.name", "platform.system", "sys.version_info", "platform.machine")
# A name that a project gives to such a condition; whether a test is skipped here is seen in its report.
_NAMED: Final = re.compile(
    r"(?:^|[._])(?:IS_)?(?:WIN|WIN32|WINDOWS|MAC|MACOS|DARWIN|LINUX|POSIX|PYPY|PY_?\d+)(?:_|$)", re.IGNORECASE
)


def dotted(node: ast.expr) -> str:
    """``a.b.c`` of a name or attribute; empty for anything else."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else node.attr
    return node.id if isinstance(node, ast.Name) else ""


def of_platform(node: ast.expr) -> bool:  # noqa: PLR0911 -- one form a case
    """Whether a condition narrows down the platform, as the language or the project names it."""
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            return any(map(of_platform, values))
        case ast.BoolOp(values=values):
            return all(map(of_platform, values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return of_platform(operand)
        case ast.Compare(left=left):
            return ast.unparse(left).startswith(_PLATFORM)
        case ast.Call(func=ast.Attribute(value=value, attr="startswith")):
            return ast.unparse(value).startswith(_PLATFORM)
        case ast.Name() | ast.Attribute():
            return bool(_NAMED.search(dotted(node)))
    return False
