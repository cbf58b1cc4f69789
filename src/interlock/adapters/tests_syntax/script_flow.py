"""Which assertions of a JavaScript function count when it runs, and what lets it off; which function is a test is scripts' part."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from interlock.adapters.tests_syntax.script_nodes import FUNCTIONS, every, text
from interlock.core.gate.test_code import Assertion, Mark

if TYPE_CHECKING:
    from tree_sitter import Node

_WEAK: Final = frozenset({"toBeDefined", "toBeTruthy", "toBeInstanceOf", "ok", "exists", "isOk", "isDefined"})
_EXACT: Final = re.compile(
    r"toBe|toEqual|toStrictEqual|toMatchObject|toMatchInlineSnapshot|toMatchSnapshot|toHaveText|toHaveBeenCalledWith"
    r"|equal|strictEqual|deepEqual|deepStrictEqual|eql|eq|isNull|toBeNull|toBeUndefined|toBeCloseTo|toHaveValue"
)
_SAME: Final = ("toBe", "toEqual", "toStrictEqual")
_EXITS: Final = frozenset({"process.exit", "process.abort", "process.kill", "Deno.exit", "process.reallyExit"})
_LITERALS: Final = frozenset({"true", "false", "null", "undefined", "number", "string"})


@dataclass(slots=True)
class Flow:
    """What one function does: assertions that count, calls by name with line and times, and marks."""

    found: list[Assertion] = field(default_factory=list)
    calls: list[tuple[str, int, int]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    returns: list[int] = field(default_factory=list)
    guard: str = ""


def flow_of(body: Node) -> Flow:
    """Walk through a function's body once."""
    flow = Flow()
    _visit(flow, body, live="", times=1)
    last = max((each.line for each in flow.found), default=0)
    for line in flow.returns:
        if line < last:
            flow.marks.append(Mark(line=line, key="return", what="returns before its assertions"))
    return flow


def file_marks(root: Node) -> Iterator[Mark]:
    """Ends and patches that hold for a whole file, and a report that it writes itself."""
    for node in every(root):
        line = node.start_point[0] + 1
        if (
            node.type == "call_expression"
            and _callee(node) in ("process.on", "process.once")
            and "exit" in text(node)[:60]
        ):
            yield Mark(
                line=line, key="process.on exit", what="takes the end of the run into its own hands by process.on"
            )
        if node.type == "assignment_expression" and re.match(
            r"(?:global(?:This)?\.)?expect\b(?!\()|process\.exit", text(node)
        ):
            yield Mark(line=line, key="patch", what=f"changes what judges it: {_short(node)}")
        if node.type == "call_expression" and _callee(node) in ("jest.retryTimes", "vi.retryTimes", "this.retries"):
            yield Mark(line=line, key="retries", what=f"runs until it passes, by {_short(node)}")
        if node.type in ("string", "template_string") and "<testsuite" in text(node):
            yield Mark(line=line, key="<testsuite", what="writes its own report")
        if node.type == "expression_statement" and node.parent is not None and node.parent.type == "program":
            call = node.named_children[0] if node.named_children else None
            if call is not None and call.type == "call_expression" and _callee(call) in _EXITS:
                yield Mark(line=line, key=_callee(call), what=f"ends the run by {_callee(call)}")


def _visit(flow: Flow, node: Node, *, live: str, times: int) -> None:  # noqa: C901 -- one form a case
    if node.type == "statement_block":
        for child in node.named_children:
            _visit(flow, child, live=live, times=times)
            if child.type in ("return_statement", "throw_statement"):
                live = live or "is never reached"
        return
    if node.type == "return_statement":
        inside = any(each.type == "call_expression" for each in every(node))
        if not live and not inside:
            flow.returns.append(node.start_point[0] + 1)
    if node.type == "try_statement":
        _try(flow, node, live=live, times=times)
        return
    if node.type == "if_statement":
        _if(flow, node, live=live, times=times)
        return
    if node.type == "for_in_statement":
        table = node.child_by_field_name("right")
        rows = rows_of(table) if table is not None else None
        times *= rows or 1
        live = live or ("stands in a loop over nothing" if rows == 0 else "")
    if node.type == "call_expression" and _call(flow, node, live, times):
        return
    if node.type in ("function_declaration", "method_definition"):
        return
    for child in node.named_children:
        _visit(flow, child, live=live, times=times)


def _if(flow: Flow, node: Node, *, live: str, times: int) -> None:
    condition, then, other = (node.child_by_field_name(name) for name in ("condition", "consequence", "alternative"))
    word = text(condition).strip("()").strip() if condition is not None else ""
    guard, settled = flow.guard, word in ("true", "1", "false", "0")
    if then is not None:
        flow.guard = guard or ("" if settled or _fails(other) else word)
        _visit(flow, then, live=live or ("is never reached" if word in ("false", "0") else ""), times=times)
    if other is not None:
        flow.guard = guard or ("" if settled or _fails(then) else f"!({word})")
        _visit(flow, other, live=live or ("is never reached" if word in ("true", "1") else ""), times=times)
    flow.guard = guard


def _fails(branch: Node | None) -> bool:
    """Whether a branch asserts or fails by itself, so that one of both always says something."""
    return branch is not None and bool(re.search(r"\bexpect\b|\bassert|\bthrow\b|\bfail\(|\.skip\(", text(branch)))


def _try(flow: Flow, node: Node, *, live: str, times: int) -> None:
    body, handler, last = (node.child_by_field_name(name) for name in ("body", "handler", "finalizer"))
    swallows = handler is not None and not re.search(
        r"\bthrow\b|\.fail\(|\bfail\(|\bexpect\(|\bassert\b|\bdone\(|\breject\(", text(handler)
    )
    if body is not None:
        _visit(flow, body, live=live or ("may fail without being seen" if swallows else ""), times=times)
    for part in (handler, last):
        if part is not None:
            _visit(flow, part, live=live, times=times)


def _call(flow: Flow, node: Node, live: str, times: int) -> bool:
    """Take a call over; True when nothing in it is looked at any more."""
    name, line = _callee(node), node.start_point[0] + 1
    if name in _EXITS:
        flow.marks.append(Mark(line=line, key=name, what=f"ends the run by {name}"))
        return True
    found = _assertion(node, name, line)
    if found is not None:
        live = live or _unseen(node)
        loose = re.search(r"\.(?:resolves|rejects)\.", name) and node.parent is not None
        if loose and node.parent is not None and node.parent.type == "expression_statement":
            live = live or "is not waited for"
        _take(flow, found, live, times)
        return True
    if re.search(r"(?:^|\.)skip$", name) and not live:
        flow.marks.append(Mark(line=line, key="call skip", what=f"is set aside by {_short(node)}"))
    if re.fullmatch(r"(?:\w+\.)?\w+", name) and not live:
        flow.calls.append((name.rpartition(".")[2], line, times))
    return False


def _unseen(node: Node) -> str:
    """Why a failure of an assertion fails no test, by what stands around it; empty where it does."""
    member = node.parent
    if (
        member is not None
        and member.type == "member_expression"
        and text(member.child_by_field_name("property")) == "catch"
    ):
        call = member.parent
        handler = text(call.child_by_field_name("arguments")) if call is not None else ""
        if not re.search(r"\bthrow\b|fail\(|\bexpect\(|\bassert|\bdone\b|reject", handler):
            return "may fail without being seen"
    around = node.parent
    while around is not None:
        if around.type == "call_expression" and not _is_within_function(around, node):
            around = around.parent
            continue
        if around.type == "call_expression":
            why = _of_callback(around)
            if why:
                return why
        around = around.parent
    return ""


def _is_within_function(call: Node, node: Node) -> bool:
    """Whether a node stands in a function that is given to a call."""
    arguments = call.child_by_field_name("arguments")
    return arguments is not None and any(
        each.type in FUNCTIONS and each.start_byte <= node.start_byte < each.end_byte
        for each in arguments.named_children
    )


def _of_callback(call: Node) -> str:
    """Why what is given to a call may never fail its test: a timer that nobody waits for, a loop over nothing."""
    name = _callee(call)
    inner = call.child_by_field_name("function")
    table = inner.child_by_field_name("object") if inner is not None and inner.type == "member_expression" else None
    if table is not None and name.endswith((".forEach", ".map")) and rows_of(table) == 0:
        return "stands in a loop over nothing"
    if name in ("setTimeout", "setImmediate", "setInterval", "queueMicrotask", "process.nextTick"):
        parent, ends = call.parent, ""
        while parent is not None and not ends:
            ends = "seen" if re.match(r"new Promise|(?:it|test)\b.*?\(\s*(?:done|t|cb)\b", text(parent)[:200]) else ""
            parent = parent.parent
        waits = ends or re.search(r"\bdone\b|\bresolve\b|\breject\b", text(call))
        return "" if waits else "is not waited for"
    return ""


def _take(flow: Flow, found: Assertion, live: str, times: int) -> None:
    if live:
        flow.marks.append(Mark(line=found.line, key=live, what=f"has an assertion that {live}: {found.text}"))
    elif found.strength == 0:
        flow.marks.append(
            Mark(line=found.line, key="always", what=f"has an assertion that is always true: {found.text}")
        )
    else:
        flow.found.append(
            Assertion(
                text=found.text,
                shape=found.shape,
                line=found.line,
                strength=found.strength,
                weight=times,
                parts=found.parts,
                subject=found.subject,
                guard=flow.guard,
            )
        )


def _assertion(node: Node, name: str, line: int) -> Assertion | None:
    """``expect(x).not.toBe(y)``, ``assert.equal(x, y)``, ``assert(x)``, ``t.is(x, y)`` or ``x.should.equal(y)``."""
    arguments = node.child_by_field_name("arguments")
    given = arguments.named_children if arguments is not None else []
    subject = _expected(node)
    if subject is not None:
        matcher = name.rpartition(".")[2]
        if matcher in ("then", "catch", "finally"):
            return None  # what it is called on asserts
        negated = ".not." in name
        strength = 2 if negated or not _EXACT.fullmatch(matcher) else 3
        if matcher in _WEAK or (negated and matcher in ("toBeNull", "toBeUndefined", "toBeFalsy")):
            strength = 1
        wide = r"expect\.(?:anything\(\)|any\(\w+\))"
        if matcher in _SAME and not negated and len(given) == 1 and re.fullmatch(wide, text(given[0])):
            strength, matcher = 1, "anything"
        if _always(subject, matcher, [text(each) for each in given], negated=negated):
            strength = 0
        shape = f"{_mask(subject)} {'not ' if negated else ''}{'equals' if matcher in _SAME else matcher}"
        return Assertion(
            subject=text(subject), text=_short(node), shape=shape, line=line, strength=strength, parts=_parts(given)
        )
    if not re.match(r"(?:assert|chai\.assert|t)(?:\.|$)", name) or not given:
        return None
    words = [text(each) for each in given]
    matcher = name.rpartition(".")[2]
    exact = bool(_EXACT.fullmatch(matcher)) or matcher == "is"
    fixed = (
        words[0] in ("true", "1") or given[0].type == "string" or (exact and len(words) > 1 and words[0] == words[1])
    )
    strength = (
        0 if fixed and matcher in ("assert", "ok", "isOk", "true", *([matcher] if exact else [])) else 3 if exact else 2
    )
    if (
        strength == 2
        and matcher in ("assert", "ok", "isOk", "exists")
        and given[0].type in ("identifier", "member_expression", "call_expression", "await_expression")
    ):
        strength = 1
    return Assertion(
        subject=words[0],
        text=_short(node),
        shape=f"{_mask(given[0])} {matcher}",
        line=line,
        strength=strength,
        parts=_parts(given),
    )


def _expected(node: Node) -> Node | None:
    """What stands in the ``expect(…)`` that a chain of matchers begins with."""
    function = node.child_by_field_name("function")
    while function is not None and function.type == "member_expression":
        inner = function.child_by_field_name("object")
        if inner is not None and inner.type == "call_expression":
            if re.fullmatch(r"expect(?:\.\w+)?", _callee(inner)):
                arguments = inner.child_by_field_name("arguments")
                return arguments.named_children[0] if arguments is not None and arguments.named_children else None
            inner = inner.child_by_field_name("function")
        function = inner
    return None


def _always(subject: Node, matcher: str, given: list[str], *, negated: bool) -> bool:
    fixed = subject.type in _LITERALS
    if not fixed:
        return bool(given) and matcher in _SAME and not negated and text(subject) == given[0]
    word = text(subject)
    if matcher in _SAME:
        return bool(given) and (word == given[0]) is not negated
    return matcher in ("toBeTruthy", "toBeDefined", "toBeFalsy", "toBeNull", "toBeUndefined")


def _parts(given: list[Node]) -> int:
    return max((len(each.named_children) for each in given if each.type in ("array", "object")), default=1) or 1


def rows_of(node: Node) -> int | None:
    """How many rows a literal table has; None when that cannot be told."""
    if node.type != "array" or any(each.type == "spread_element" for each in node.named_children):
        return None
    return sum(1 for each in node.named_children if each.type != "comment")


def _callee(node: Node) -> str:
    """The name of what is called, with arguments of calls before it taken out."""
    function = node.child_by_field_name("function")
    if function is None:
        return ""
    if function.type == "member_expression":
        inner, last = function.child_by_field_name("object"), function.child_by_field_name("property")
        before = (
            _callee(inner) if inner is not None and inner.type == "call_expression" else text(inner) if inner else ""
        )
        return f"{before}.{text(last)}" if last is not None else before
    return text(function)


def _mask(node: Node) -> str:
    """A subject without values and variables: what is called keeps its name."""
    if node.type == "call_expression":
        arguments = node.child_by_field_name("arguments")
        given = ", ".join(_mask(each) for each in arguments.named_children) if arguments is not None else ""
        return f"{_callee(node)}({given})"
    if node.type == "await_expression" and node.named_children:
        return _mask(node.named_children[0])
    if node.type == "member_expression":
        return f"_.{text(node.child_by_field_name('property'))}"
    return "_"


def _short(node: Node) -> str:
    found = " ".join(text(node).split())
    return found if len(found) <= 80 else f"{found[:77]}..."
