"""The command line of interlock-task: reading arguments and answering; saying is in say, asking in ask."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Final

from interlock.task import ask, say
from interlock.task.inside import Inside, Misuse, NotDone


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one verb.  Gives 0 when done, 1 when refused (``may-i``: not all paths are owned), 2 on misuse."""
    options = _parser().parse_args(arguments)
    if options.verb == "hook":
        from interlock.task import hook

        return hook.main()
    try:
        if options.verb == "mcp":
            from interlock.task import mcp

            return mcp.serve(Inside.of_environment())
        return _VERBS[options.verb](options, Inside.of_environment())
    except Misuse as fault:
        print(f"interlock-task: {fault}", file=sys.stderr)
        return 2
    except NotDone as fault:
        print(f"interlock-task: {fault}", file=sys.stderr)
        return 1


_VERBS: Final[dict[str, Callable[[argparse.Namespace, Inside], int]]] = {
    "stop": lambda given, inside: say.stop(inside, given.reason or " ".join(given.text), given.question, given.option),
    "scope-request": lambda given, inside: say.scope_request(inside, given.path, given.reason),
    "attach": lambda given, inside: say.attach(inside, given.file, given.kind),
    "note": lambda given, inside: say.note(inside, " ".join(given.text)),
    "pack": lambda given, inside: say.pack(inside, given.file),
    "card": lambda given, inside: ask.card(inside, as_json=given.json),
    "may-i": lambda given, inside: ask.may_i(inside, given.path, as_json=given.json),
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="interlock-task",
        description="For an agent at work on a task: stop with a reason, ask for more scope, leave files and notes, see the card.",
        epilog="Nothing said here moves a gate: checks and scope are judged by the harness on the commit alone.",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    _say_verbs(verbs)
    verbs.add_parser(
        "hook", help="judge the tool call on standard input, for an agent's PreToolUse hook; ends with 2 for a no"
    )
    verbs.add_parser("mcp", help="the same for a client of the Model Context Protocol, on standard input and output")
    one = verbs.add_parser("card", help="show the card of this job")
    one.add_argument("--json", action="store_true", help="the card and its paths as JSON")
    one = verbs.add_parser("may-i", help="tell whether paths are owned by this job; ends with 1 unless all are")
    one.add_argument("path", nargs="+", metavar="PATH")
    one.add_argument("--json", action="store_true", help="the answers as JSON")
    return parser


def _say_verbs(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    one = verbs.add_parser(
        "stop", help="end this attempt, with the reason and the smallest question that a person must answer"
    )
    one.add_argument("text", nargs="*", metavar="REASON", help="the reason, where --reason is not given")
    one.add_argument("--reason", help="why work cannot go on")
    one.add_argument("--question", help="what a person has to decide")
    one.add_argument("--option", action="append", default=[], help="a possible answer; may be repeated")
    one = verbs.add_parser("scope-request", help="ask for paths that the card does not own")
    one.add_argument("path", nargs="+", metavar="PATH")
    one.add_argument("--reason", required=True, help="why they are needed")
    one = verbs.add_parser("attach", help="put a copy of a file of the task on the record")
    one.add_argument("file", metavar="FILE")
    one.add_argument("--kind", default="file", help="what it is, such as screenshot or report")
    one = verbs.add_parser("pack", help="hand something on to the next phase of the job; the last one counts")
    one.add_argument("file", metavar="FILE", help="the text; - for standard input")
    one = verbs.add_parser("note", help="put a remark on the record")
    one.add_argument("text", nargs="+", metavar="TEXT")
