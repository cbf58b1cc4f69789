"""Whether a call fits a signature, and in words what it lacks; which call meets which signature is not here."""

from __future__ import annotations

from interlock.core.merge.facts import Call, Signature


def misfit(call: Call, signature: Signature) -> str:  # noqa: C901, PLR0911 -- one reason a line
    """Why a call does not fit, as a part of a sentence; nothing where it fits or where that cannot be told."""
    if signature.unsure:
        return ""
    if signature.most is not None and call.positional > signature.most:
        return f"takes {_count(signature.most)} by position and is given {call.positional}"
    if not signature.any_name:
        for name in call.names:
            if name not in signature.names:
                return f"has no parameter {name}"
    if call.spread:
        return ""
    for place in range(call.positional, signature.required):
        named = place - signature.only
        if named < 0 or named >= len(signature.names) or signature.names[named] not in call.names:
            lacking = signature.names[named] if 0 <= named < len(signature.names) else f"argument {place + 1}"
            return f"now needs {lacking}"
    for name in signature.must:
        if name not in call.names:
            return f"now needs {name}"
    return _twice(call, signature)


def _twice(call: Call, signature: Signature) -> str:
    for place in range(signature.only, call.positional):
        named = place - signature.only
        if signature.most is not None and named < len(signature.names) and signature.names[named] in call.names:
            return f"is given {signature.names[named]} twice"
    return ""


def _count(number: int) -> str:
    return {0: "nothing", 1: "one argument"}.get(number, f"{number} arguments")
