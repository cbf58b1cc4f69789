"""What a forge lets happen to the protected branch, held against what the gates need; asking the forge is others' work (F2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

REQUIRED: Final = "interlock-scope"
"""The name of the job that the generated workflow always runs, and that the branch must require."""
WORKFLOW: Final = ".github/workflows/interlock-scope.yml"
"""Where that workflow stands."""
_WORKFLOWS: Final = {
    ".github/**",
    ".github/**/*",
    ".github/workflows/**",
    ".github/workflows/**/*",
    ".github/workflows/*",
}
_ACTIONS: Final = 15368  # GitHub Actions, as the application that reports a check


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """What is in force on a branch, classic protection and rulesets taken together.

    ``checks`` are the required ones with the application that must report each (None: any); ``bypass`` who may go round it,
    and ``untold`` the rulesets of which that was not said.  ``own_file``: the judge is required by its file, or nobody may
    push workflows.
    """

    checks: Mapping[str, int | None] = field(default_factory=dict)
    reviews: int = 0
    code_owners: bool = False
    stale_dismissed: bool = False
    force_pushes: bool = True
    deletions: bool = True
    bypass: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    own_file: bool = False
    known: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """One thing that lets untested work in: what, why it matters, and how to close it."""

    what: str
    why: str
    fix: str

    def as_json(self) -> dict[str, str]:
        return {"what": self.what, "why": self.why, "fix": self.fix}


def gaps(protection: Protection, skippable: Mapping[str, str]) -> tuple[Gap, ...]:
    """Every way round the gates that the branch leaves open.

    ``skippable`` maps a job of the repository's workflows to why it may be skipped, and so counted as passed.
    """
    return tuple(_gaps(protection, skippable))


def forgeable(protection: Protection) -> str:
    """In whose name a required check can still be reported, though no setting of the branch closes that; empty: in nobody's.

    A token of a workflow reports as GitHub Actions, whichever branch the workflow stands on.
    """
    if protection.own_file or protection.checks.get(REQUIRED) != _ACTIONS:
        return ""
    return (
        f"{REQUIRED} counts when GitHub Actions reports it, and a workflow on any branch reports so: whoever may push a branch "
        f"can forge it. A ruleset that requires the workflow {WORKFLOW} itself, or one that restricts pushes to .github/workflows/**, "
        "closes that; else give write access to nobody whose word you would not take."
    )


def _gaps(protection: Protection, skippable: Mapping[str, str]) -> Iterator[Gap]:
    if not protection.known:
        yield Gap(
            what="Nothing protects the branch.",
            why="Anybody who may push can land anything.",
            fix=f"Protect it: require {REQUIRED}, a review of code owners, and no bypass.",
        )
        return
    if REQUIRED not in protection.checks:
        yield Gap(
            what=f"{REQUIRED} is not required.",
            why="A change out of its card's scope can be merged.",
            fix=f"Require the check {REQUIRED}.",
        )
    for name, app in protection.checks.items():
        if name in skippable:
            yield Gap(
                what=f"The required check {name} can be skipped: {skippable[name]}.",
                why="The forge counts a skipped job as passed, and waits for ever for one that its filters left out.",
                fix="Require one job that always runs and fails unless all that it needs are success.",
            )
        if app is None:
            yield Gap(
                what=f"The required check {name} may come from anybody with write access.",
                why="A token can report success in its name.",
                fix="Choose the application that must report it.",
            )
    yield from _review_gaps(protection)


def _review_gaps(protection: Protection) -> Iterator[Gap]:
    if not (protection.code_owners and protection.reviews):
        yield Gap(
            what="No review of code owners is required.",
            why="A branch can change the workflow that judges it.",
            fix="Require a review of code owners.",
        )
    elif not protection.stale_dismissed:
        yield Gap(
            what="An approval stays when new commits are pushed.",
            why="What was approved is not what lands.",
            fix="Dismiss stale approvals, or require approval of the last push.",
        )
    for allowed, word in ((protection.force_pushes, "Force pushes"), (protection.deletions, "Deletions")):
        if allowed:
            yield Gap(
                what=f"{word} of the branch are allowed.", why="History that landed can vanish.", fix="Forbid it."
            )
    if protection.bypass:
        yield Gap(
            what=f"These may bypass the rules: {', '.join(protection.bypass)}.",
            why="What they push is not tested.",
            fix="Take them off the bypass list; include administrators.",
        )
    if protection.untold:
        yield Gap(
            what=f"Who may bypass these rulesets is not told: {', '.join(protection.untold)}.",
            why="The rules of a branch do not say it, and a ruleset says it only to those who may change it.",
            fix="Have an administrator ask, and hand over as well: gh api repos/OWNER/NAME/rulesets/ID.",
        )


def is_protection(answer: Mapping[str, Any]) -> bool:
    """Whether an answer is a branch's classic protection: a forge names these parts in each of them."""
    return "enforce_admins" in answer or "required_status_checks" in answer or "allow_force_pushes" in answer


def is_ruleset(answer: Mapping[str, Any]) -> bool:
    return isinstance(answer.get("rules"), list) and "enforcement" in answer


def are_rules(answer: Sequence[Any]) -> bool:
    """Whether an answer is the list of rules in force on a branch, which may be empty."""
    return all(isinstance(each, Mapping) and isinstance(each.get("type"), str) for each in answer)


def protection_of(
    classic: Mapping[str, Any] | None,
    rules: Sequence[Mapping[str, Any]] | None,
    rulesets: Sequence[Mapping[str, Any]] = (),
) -> Protection:
    """What GitHub's answers say together: a branch's classic protection, the rules in force on it, and rulesets by themselves.

    None stands for an answer that was 404.  Whatever one of them forbids is forbidden.  A ruleset counts as ``left_out`` says.
    """
    found = _classic(classic) if classic else Protection()
    for rule in rules or ():
        found = _with_rule(found, rule)
    told = {each.get("id"): each for each in rulesets if not left_out(each, rules or ())}
    for each in told.values():
        for rule in each["rules"]:
            found = _with_rule(found, _map(rule))
        names = (
            f"{_map(actor).get('actor_type')} {_map(actor).get('actor_id')}"
            for actor in each.get("bypass_actors") or ()
        )
        found = replace(found, bypass=(*found.bypass, *names))
    held = {*_ids(rules or ()), *told}
    untold = tuple(str(each) for each in held if _map(told.get(each)).get("bypass_actors") is None)
    return replace(found, untold=tuple(sorted(untold)))


def left_out(ruleset: Mapping[str, Any], rules: Sequence[Mapping[str, Any]]) -> str:
    """Why a ruleset forbids nothing on the default branch, as far as the answers tell; nothing where it does."""
    if ruleset.get("enforcement") != "active":
        return f"its enforcement is {ruleset.get('enforcement')}"
    if ruleset.get("target") == "push":  # it holds for every push to the repository
        return ""
    if ruleset.get("target", "branch") != "branch":
        return f"it is about a {ruleset.get('target')}"
    if ruleset.get("id") in _ids(rules):
        return ""
    refs = _map(_map(ruleset.get("conditions")).get("ref_name"))
    if refs.get("exclude") or not {"~DEFAULT_BRANCH", "~ALL"} & set(refs.get("include") or ()):
        return "neither it nor the rules of the branch say that it holds there"
    return ""


def _ids(rules: Sequence[Mapping[str, Any]]) -> set[Any]:
    return {rule["ruleset_id"] for rule in rules if "ruleset_id" in rule}


def _classic(answer: Mapping[str, Any]) -> Protection:
    required = _map(answer.get("required_status_checks"))
    checks: dict[str, int | None] = dict.fromkeys(map(str, required.get("contexts", ())))
    checks |= {str(each["context"]): _app(each.get("app_id")) for each in required.get("checks", ())}
    reviews = _map(answer.get("required_pull_request_reviews"))
    admins = bool(_map(answer.get("enforce_admins")).get("enabled"))
    allowed = _map(reviews.get("bypass_pull_request_allowances"))
    names = [
        str(each.get("login") or each.get("slug"))
        for kind in allowed.values()
        if isinstance(kind, list)
        for each in kind
    ]
    return Protection(
        checks=checks,
        reviews=int(reviews.get("required_approving_review_count", 0) or 0),
        code_owners=bool(reviews.get("require_code_owner_reviews")),
        stale_dismissed=bool(reviews.get("dismiss_stale_reviews") or reviews.get("require_last_push_approval")),
        force_pushes=bool(_map(answer.get("allow_force_pushes")).get("enabled")),
        deletions=bool(_map(answer.get("allow_deletions")).get("enabled")),
        bypass=(*([] if admins else ["administrators"]), *names),
        known=True,
    )


def _with_rule(found: Protection, rule: Mapping[str, Any]) -> Protection:
    return replace(found, known=True, **_told_by(found, str(rule.get("type")), _map(rule.get("parameters"))))


def _told_by(found: Protection, kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a rule of this kind changes in what was found before."""
    if kind == "required_status_checks":
        named = given.get("required_status_checks", ())
        return {
            "checks": {**found.checks, **{str(each["context"]): _app(each.get("integration_id")) for each in named}}
        }
    if kind == "pull_request":
        stale = given.get("dismiss_stale_reviews_on_push") or given.get("require_last_push_approval")
        return {
            "reviews": max(found.reviews, int(given.get("required_approving_review_count", 0) or 0)),
            "code_owners": found.code_owners or bool(given.get("require_code_owner_review")),
            "stale_dismissed": found.stale_dismissed or bool(stale),
        }
    if kind == "workflows" and WORKFLOW in {_map(each).get("path") for each in given.get("workflows", ())}:
        return {"checks": {**found.checks, REQUIRED: _ACTIONS}, "own_file": True}
    if kind == "file_path_restriction" and _WORKFLOWS & set(given.get("restricted_file_paths", ())):
        return {"own_file": True}
    return {"non_fast_forward": {"force_pushes": False}, "deletion": {"deletions": False}}.get(kind, {})


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _app(value: Any) -> int | None:
    """The application that must report; GitHub writes none as null, or as -1."""
    return value if isinstance(value, int) and value >= 0 else None


def skippable(workflow: Mapping[Any, Any]) -> dict[str, str]:
    """Jobs of a workflow that may be skipped, by the name that the forge gives their check, with why."""
    events = workflow.get("on", workflow.get(True))
    filtered = _filters(events)
    jobs = workflow.get("jobs")
    found: dict[str, str] = {}
    for key, job in jobs.items() if isinstance(jobs, Mapping) else ():
        if not isinstance(job, Mapping):
            continue
        name = str(job.get("name") or key)
        always = str(job.get("if", "")).replace(" ", "").strip("${}") == "always()"
        if filtered:
            found[name] = filtered
        elif "if" in job and not always:
            found[name] = f"it has the condition {job['if']}"
        elif job.get("needs") and not always:
            found[name] = "it needs other jobs, and is skipped when one of them fails"
    return found


def _filters(events: Any) -> str:
    for event in ("pull_request", "pull_request_target", "merge_group"):
        given = _map(_map(events).get(event))
        for word in ("paths", "paths-ignore", "branches", "branches-ignore"):
            if word in given:
                return f"its workflow runs on {event} only for some {word.partition('-')[0]}"
    return ""
