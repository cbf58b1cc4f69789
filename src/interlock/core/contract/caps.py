"""Caps against the policy: known classes, one slot at most for serial and alone ones; reading caps.txt is the adapters' work."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.core.contract.policy import Cap, Policy
from interlock.core.contract.suggest import nearest
from interlock.core.problems import Problem, Where


def judge_caps(caps: tuple[Cap, ...], policy: Policy, *, file: str) -> tuple[Problem, ...]:
    """What is wrong with caps under this policy, in the order of their lines (design: tasks/caps.txt)."""
    return tuple(problem for cap in caps for problem in _judge(cap, policy, Where(file=file, line=cap.line, column=1)))


def _judge(cap: Cap, policy: Policy, where: Where) -> Iterator[Problem]:
    known = policy.find_class(cap.class_name)
    if known is None:
        names = [each.name for each in policy.classes]
        guess = nearest(cap.class_name, names)
        yield Problem(
            kind="class",
            what=f"The class {cap.class_name} is not known.",
            why=f"The classes are: {', '.join(names)}.",
            fix=f"Write {guess} {cap.cap}."
            if guess
            else f"Define {cap.class_name} in interlock.yaml, or leave the line out.",
            where=where,
        )
    elif known.kind != "parallel" and cap.cap > 1:
        how = "alone" if known.kind == "alone" else "one at a time"
        yield Problem(
            kind="cap-value",
            what=f"The cap of {cap.class_name} is {cap.cap}, and the class runs {how}.",
            why="Two of that kind at once break each other.",
            fix=f"Write {cap.class_name} 1.",
            where=where,
        )
