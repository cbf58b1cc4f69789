"""The demo's story: which commands run in which order, and what is told of their answers; the parts are in cards."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

from interlock.core.contract.card import Level
from interlock.core.contract.levels import COVERS, NOT_COVERED
from interlock.demo import agent, cards, proof, repository
from interlock.demo.stage import GITCONFIG, Broken, Stage

FIRST = ("gift-wrap", "rounding", "quick-search", "box-labels", "low-stock", "order-export", "stock-tests")
PAIR = ("net-price", "order-tax")
ROUNDS = 6


@dataclass(slots=True)
class Result:
    """What the demo ends with; ``refused`` maps a slug to the rule that refused it."""

    landed: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    main_green: bool = False
    over_cap: int = 0
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "landed": self.landed,
            "refused": self.refused,
            "main_green": self.main_green,
            "over_cap": self.over_cap,
            "seconds": round(self.seconds, 1),
        }


def tell(stage: Stage) -> Result:
    """Play everything in the stage's empty folder.  Raises Broken when a command does not do what it should."""
    result = Result()
    _set_up(stage)
    _admit(stage)
    _work(stage, result)
    _fill_the_class(stage, result)
    _answer(stage)
    _land(stage, result)
    _land_the_rest(stage, result)
    _prove(stage, result)
    return result


def _set_up(stage: Stage) -> None:
    stage.title("A repository with a remote and a test suite; then cards, caps and a policy on its default branch")
    stage.repo.mkdir(parents=True)
    (stage.folder / "gitconfig").write_text(GITCONFIG, encoding="utf-8")
    stage.git("init", "--quiet", "--bare", str(stage.remote), cwd=stage.folder)
    stage.git("init", "--quiet")
    stage.git("remote", "add", "origin", str(stage.remote))
    stage.write(repository.FILES)
    stage.git("add", "--all")
    stage.git("commit", "--quiet", "-m", "A small bookshop with its tests")
    stage.git("push", "--quiet", "origin", "main")
    stage.interlock("init", "--yes")
    stage.write(cards.files(sys.executable))
    stage.git("add", "--all")
    stage.git("commit", "--quiet", "-m", "Cards for eleven tasks, caps and policy")
    stage.git("push", "--quiet", "origin", "main")
    for line in cards.files(sys.executable)["tasks/gift-wrap.yaml"].splitlines():
        stage.say(f"  | {line}")
    for part in cards.PARTS:
        stage.say(f"  {part.slug:14} {part.class_name:15} its agent: {part.plays}")


def _admit(stage: Stage) -> None:
    stage.title("Are the cards ready, and do they keep out of each other's way?")
    checked = stage.interlock("card", "check").data
    stage.say(
        f"  ready: {checked['ready']}, overlaps: {len(checked['overlaps'])}, order: {', '.join(checked['order'])}"
    )

    stage.title("A card whose dependency has not landed does not start")
    _refused(stage, "gift-greeting")

    stage.title("Seven are admitted: each gets its own tree, branch and ports")
    level = _admitted(stage, *FIRST)
    stage.say(f"  the level of their isolation is {level}: each has {COVERS[level]}.")
    stage.say(f"  it does not cover {NOT_COVERED[level]}.")


def _admitted(stage: Stage, *slugs: str) -> Level:
    """Dispatch cards that must be admitted, and tell what each got; gives the level of their isolation."""
    level: Level = "worktree"
    for item in _results(stage.interlock("dispatch", *slugs).data):
        if not item["admitted"]:
            raise Broken(f"{item['slug']} was not admitted: {item['refusal']}")
        ports = ", ".join(str(number) for number in item["ports"].values())
        stage.say(f"  admitted {item['slug']:13} on {item['branch']:20} ports {ports}")
        level = item["level"]
    return level


def _refused(stage: Stage, slug: str) -> str:
    """Dispatch a card that must be refused, tell why, and give the rule."""
    answer = stage.interlock("dispatch", slug, codes=(1,))
    refusal = _results(answer.data)[0]["refusal"]
    stage.say(f"  refused ({refusal['rule']}): {refusal['what']}")
    if refusal["holders"]:
        stage.say(f"    held by: {', '.join(refusal['holders'])}")
    stage.say(f"    what would change it: {refusal['would_change']}")
    return str(refusal["rule"])


def _results(data: dict[str, Any]) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = data.get("results", [data])
    return results


def _work(stage: Stage, result: Result) -> None:
    stage.title("The agents run; what they did is judged by what is there, not by what they say")
    stage.interlock("run")
    _waiting(stage, result)


def _fill_the_class(stage: Stage, result: Result) -> None:
    stage.title("Two more slices, whose paths do not meet; they will be green alone and red together")
    _admitted(stage, *PAIR)

    stage.title(f"The class {cards.SLICE} is at its cap of {cards.CAPS[cards.SLICE]} now: one more is refused")
    result.refused["loyalty"] = _refused(stage, "loyalty")

    stage.title("Somebody wants the one to land before the other, so that is held until it has its turn")
    stage.interlock("train", "hold", PAIR[1], "--reason", f"{PAIR[0]} first")


def _answer(stage: Stage) -> None:
    stage.title("One agent stopped with a question; the answer goes into its next attempt")
    waiting = {item["slug"]: item for item in stage.interlock("inbox", codes=(1,)).data["needs_a_person"]}
    stage.say(f"  rounding asks: {waiting['rounding']['ask']}")
    stage.interlock("decide", "rounding", agent.ANSWER)
    stage.interlock("run")


def _waiting(stage: Stage, result: Result) -> None:
    """Tell what waits for a person and why; a train that waits and an agent's question are no refusals."""
    for item in stage.interlock("status").data["needs_a_person"]:
        slug, rule = item["slug"], item["rule"]
        if item["job"] is None or rule == "agent-stopped" or slug in result.refused:
            continue
        result.refused[slug] = rule
        stage.say(f"  refused ({rule}): {slug}: {item['what']}")
        for line in item["tail"].splitlines()[-3:]:
            stage.say(f"    | {line}")
        stage.say(f"    what would change it: {item['ask']}")


def _land(stage: Stage, result: Result) -> None:
    stage.title("The first result is green; it lands when its owner has signed it off, and the next train is tested")
    _sign(stage)
    stage.interlock("run")
    _waiting(stage, result)


def _land_the_rest(stage: Stage, result: Result) -> None:
    """Sign off and run until no train waits; the dependant starts as soon as it may."""
    stage.title("The others go on, and the dependency has landed: the dependant starts now")
    _sign(stage)
    stage.interlock("train", "add", PAIR[1])
    _admitted(stage, "gift-greeting")
    for _ in range(ROUNDS):
        stage.interlock("run")
        if not _sign(stage):
            _waiting(stage, result)
            return
    raise Broken(f"The train was not done after {ROUNDS} rounds.")


def _sign(stage: Stage) -> bool:
    """Sign off the train when one waits for it."""
    train = stage.interlock("train", "show").data
    waiting = [member["slug"] for member in train["members"] if member["state"] == "tested"]
    if not waiting:
        return False
    stage.say(f"  tested together and green: {', '.join(waiting)}; suite runs so far: {train['runs']}")
    stage.interlock("sign-off", "--as", cards.OWNER)
    return True


def _prove(stage: Stage, result: Result) -> None:
    stage.title("What landed, and the proof that the default branch was never red")
    train = stage.interlock("train", "show").data
    result.landed = [landing["slug"] for landing in train["landed"]]
    for landing in train["landed"]:
        same = "is" if landing["tree"] == landing["tested_tree"] else "is not"
        stage.say(f"  {landing['slug']:14} {landing['commit'][:12]}  the landed tree {same} the tested tree")
    result.main_green = proof.default_branch_green(stage)
    result.over_cap = proof.over_cap(stage, (*FIRST, *PAIR, "gift-greeting"))
    stage.say(f"  jobs above a cap at any moment of the history: {result.over_cap}")
    _record(stage)


def _record(stage: Stage) -> None:
    stage.title("The record of one of them: everything that was done, and by whom")
    shown = stage.interlock("show", "gift-wrap").data
    for event in shown["history"]:
        stage.say(f"  {event['when']}  {event['kind']:16} {event['actor']:12} {event['text']}".rstrip())
    for evidence in shown["evidence"]:
        for check in evidence["checks"]:
            stage.say(
                f"  {check['state']}: {check['run']}, {check['tests']['passed']} tests, on {evidence['commit'][:12]}"
            )
    stage.say(f"  its files: {shown['record']}")
