"""What a person may answer to each thing that waits, as commands to copy; nothing here is chosen for anybody."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from interlock.core.agent.gateway import Unit, reached_from
from interlock.core.agent.seen import Asked, Choice
from interlock.core.gate.accepted import BY_NAME

Kind = Literal["permission", "scope", "question", "budget", "test-plan", "loop", "approval", "sign-off", "stop"]

WAIVABLE: Final = BY_NAME | {"file-overlap", "test-plan"}
NOTHING_TRIED: Final = frozenset({"api-auth", "api-quota", "api-rate", "api-overload", "api-network", "login"})
"""The model did not answer, so there is nothing that another hypothesis could be about."""

LOOP_STOPS: Final = frozenset({"loop-stuck", "loop-limit"})
LOOP_IDLE: Final = frozenset({"loop-skipped", "not-reproduced"})
NEEDS_AN_ANSWER: Final = frozenset(
    {"agent-stopped", "empty-diff", "agent-failed", "idle-limit", "wall-limit", "head-moved", "interrupted"}
    | {"startup-limit", "turn-limit", "denied", "no-end", "phase-wrote", "no-pack", "test-plan", "not-worth"}
    | {"api-context", "api-bad-request", "api-other"}
    | LOOP_STOPS
)
RESUMED: Final = frozenset(
    {"no-agent", "workspace-missing", "cancelled", "internal", "root", "sandbox", "secret", "database", "service"}
    | {
        "browser",
        "landed-otherwise",
        "no-full-check",
        "no-remote",
        "push-rejected",
        "base-moves",
        "red-base",
        "rules-size",
        "template",
    }
    | {"leaked", "git", "signing", "locked", "evidence-key"}
    | NOTHING_TRIED
)
MET_ANOTHER: Final = frozenset({"text-conflict", "red-together", "resolution"})
JUDGED_AGAIN: Final = frozenset(
    {"outside", "read-only", "prohibited", "protected", "symlink", "submodule", "card-changed"}
    | {"unknown-card", "not-ready", "class"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One answer: what it means, and the command that gives it; words in capitals are to be filled in."""

    label: str
    command: str

    def as_json(self) -> dict[str, str]:
        return {"label": self.label, "command": self.command}


def kind_of(rule: str, detail: Mapping[str, Any]) -> Kind:
    """Which sort of decision a rule asks for."""
    if rule == "agent-stopped":
        return "scope" if detail.get("paths") else "question"
    if rule in LOOP_STOPS | LOOP_IDLE:
        return "loop"
    if rule in ("budget", "not-worth"):
        return "budget"
    if rule in ("approval", "test-plan"):
        return rule  # type: ignore[return-value]
    return "stop"


def options_of(slug: str, rule: str, detail: Mapping[str, Any]) -> tuple[Option, ...]:
    """All that a person may answer to a job that waits by a rule; ``detail`` is what it waits with."""
    asked = kind_of(rule, detail)
    found = {
        "scope": _scope,
        "question": _question,
        "loop": _loop,
        "budget": _budget,
        "approval": _approval,
        "test-plan": _test_plan,
    }.get(asked, _stop)(slug, rule, detail)
    close = Option(label="close the job without landing it", command=f"interlock decide {slug} --abandon")
    return (close, *found) if rule in LOOP_IDLE else (*found, close)


def sign_off_command(owner: str, number: int | None = None) -> str:
    """What an owner types; the login's own name is seldom the one that the card has."""
    return f"interlock sign-off --as {shlex.quote(owner)}" + (f" --train {number}" if number is not None else "")


def permission_options(slug: str, asked: Asked) -> tuple[Option, ...]:
    """What may be answered to an agent that waits for a permission: no, and what it offers, what allows most last."""
    chosen = f"interlock decide {slug} --request={shlex.quote(asked.id)}"
    no, yes = (
        [
            Option(label=each.label or each.id, command=f"{chosen} --permit={shlex.quote(each.id)}")
            for each in sorted(asked.choices, key=_for_ever)
            if each.allows is allows
        ]
        for allows in (False, True)
    )
    return (*no, Option(label="refuse it", command=f"{chosen} --deny"), *yes)


def _for_ever(choice: Choice) -> bool:
    """Whether a choice answers what is not asked yet as well, as far as its words tell."""
    return "always" in f"{choice.id} {choice.label}".lower()


def _scope(slug: str, _: str, detail: Mapping[str, Any]) -> tuple[Option, ...]:
    paths = " ".join(str(path) for path in detail.get("paths", ()))
    return (
        Option(
            label=f"widen the card by {paths} on the default branch first, then say so",
            command=_decide(slug, f"The card has {paths} now."),
        ),
        Option(label="do without", command=_decide(slug, f"Do without {paths}.")),
        _words(slug),
    )


def _question(slug: str, _: str, detail: Mapping[str, Any]) -> tuple[Option, ...]:
    offered = (Option(label=str(each), command=_decide(slug, str(each))) for each in detail.get("options") or ())
    return (*offered, _words(slug))


def _loop(slug: str, rule: str, _: Mapping[str, Any]) -> tuple[Option, ...]:
    if rule in LOOP_IDLE:
        return (Option(label="look again, once the loop is changed", command=f"interlock resume {slug}"),)
    again = Option(
        label="let the gate judge once more, once the loop is changed", command=f"interlock decide {slug} --again"
    )
    return (_retry(slug), again)


def _budget(slug: str, rule: str, detail: Mapping[str, Any]) -> tuple[Option, ...]:
    """What helps with the limit that was reached; one that stands elsewhere, or was refused before a start, is gone round."""
    if rule == "not-worth":
        even_so = Option(label="try all the same", command=f"interlock retry {slug} --hypothesis TEXT --even-so")
        return (*(_raise(slug, unit, detail) for unit in _units(detail)), even_so)
    reached = reached_from(detail.get("reached"))
    if reached is None or not reached.priced:
        mended = "once the model has a price" if reached else "once the cause is mended"
        return (Option(label=f"go on, {mended}", command=f"interlock resume {slug}"), _retry(slug))
    if reached.scope == "attempt":
        return (_retry(slug), _raise(slug, reached.unit, detail, "attempt."))
    if reached.scope == "job":
        return (_raise(slug, reached.unit, detail),)
    until = "on the next day (UTC), or once per_day is raised in interlock.yaml"
    return (Option(label=f"go on {until}", command=f"interlock resume {slug}"),)


def _units(detail: Mapping[str, Any]) -> tuple[Unit, ...]:
    """What the job's worth was told in; where that is not on the record, what the job has a limit in, or both."""
    units: tuple[Unit, ...] = get_args(Unit)
    told = tuple(each for each in units if each == detail.get("unit"))
    return told or tuple(each for each in units if each in detail.get("raise_to", ())) or units


def _raise(slug: str, unit: Unit, detail: Mapping[str, Any], scope: Literal["", "attempt."] = "") -> Option:
    """A raise to the figure that ``raise_to`` of the detail has for the limit (app.raise_to), or to N where it has none."""
    name = f"{scope}{unit}"
    to = detail.get("raise_to", {}).get(name, "N")
    words = "dollars" if unit == "usd" else "tokens"
    whose = "an attempt's" if scope else "the job's"
    return Option(label=f"raise {whose} {words} to {to}", command=f"interlock decide {slug} --raise {name}={to}")


def _approval(slug: str, _: str, detail: Mapping[str, Any]) -> tuple[Option, ...]:
    names = detail.get("holders") or ("NAME",)
    return tuple(Option(label=f"approve {name}", command=f"interlock decide {slug} --approve {name}") for name in names)


def _test_plan(slug: str, _: str, __: Mapping[str, Any]) -> tuple[Option, ...]:
    accept = Option(label="accept the test plan as it is", command=f"interlock decide {slug} --accept")
    return (Option(label="have a new test plan by your words", command=f"interlock decide {slug} WORDS"), accept)


def _stop(slug: str, rule: str, detail: Mapping[str, Any]) -> tuple[Option, ...]:
    judged = (_again(slug),) if "checks" in detail else ()  # the card says which checks, and may be what is wrong
    if rule in WAIVABLE:
        accept = Option(label="accept what was found", command=f"interlock decide {slug} --accept")
        return (_retry(slug), *judged, accept)
    if rule in RESUMED:
        mended = Option(label="go on, once the cause is mended", command=f"interlock resume {slug}")
        return (mended, _retry(slug)) if rule == "leaked" else (mended,)
    if rule in JUDGED_AGAIN:
        return (_again(slug), _retry(slug))
    if rule == "depends-on":
        resumed = Option(label="go on, once it has landed again", command=f"interlock resume {slug}")
        return (resumed, _again(slug))
    if rule in ("head-moved", "branch-replaced") and "branch" in detail:
        when = "the commits are off the branch" if rule == "head-moved" else "the branch stands where it stood"
        judged = (_again(slug, when),)
    return (*((_resolve(slug),) if rule in MET_ANOTHER else ()), _retry(slug), *judged)


def _again(slug: str, when: str = "the card is changed") -> Option:
    return Option(label=f"judge again, once {when}", command=f"interlock decide {slug} --again")


def _resolve(slug: str) -> Option:
    label = "have a fresh run bring it together with the change that landed, by both cards and plans"
    return Option(label=label, command=f"interlock resolve {slug}")


def _retry(slug: str) -> Option:
    return Option(label="try again with a new hypothesis", command=f"interlock retry {slug} --hypothesis TEXT")


def _words(slug: str) -> Option:
    return Option(label="answer in your own words", command=f"interlock decide {slug} ANSWER")


def _decide(slug: str, text: str) -> str:
    """The command that gives this answer; words of an agent stay an answer, whatever option they look like."""
    words = " ".join(text.split())
    return f"interlock decide {slug} {'-- ' if words.startswith('-') else ''}{shlex.quote(words)}"
