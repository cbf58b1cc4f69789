"""What the demo measures at its end: every commit of the default branch tested, and the caps against the history."""

from __future__ import annotations

from collections import Counter

from interlock.demo import cards
from interlock.demo.stage import Stage


def default_branch_green(stage: Stage) -> bool:
    """Run the suite on each first-parent commit of the remote's default branch, in a clone."""
    clone = stage.folder / "proof"
    stage.git("clone", "--quiet", str(stage.remote), str(clone), cwd=stage.folder)
    green = True
    for commit in stage.git("rev-list", "--first-parent", "--reverse", "HEAD", cwd=clone, told=False).split():
        stage.git("checkout", "--quiet", commit, cwd=clone, told=False)
        done = stage.pytest(clone)
        subject = stage.git("log", "-1", "--format=%s", cwd=clone, told=False).strip()
        stage.say(f"  {'green' if done.code == 0 else 'RED'}: {done.text.strip().splitlines()[-1]}  ({subject})")
        green = green and done.code == 0
    return green


def over_cap(stage: Stage, slugs: tuple[str, ...]) -> int:
    """Replay the history of all jobs: by how many a class was above its cap at the worst moment, over all classes."""
    moves: list[tuple[int, str, int]] = []
    stage.say(f"$ interlock show SLUG  (for each of {len(slugs)} jobs)")
    for slug in slugs:
        job = stage.interlock("show", slug, told=False).data
        for event in job["history"]:
            if event["kind"] == "job.admitted":
                moves.append((event["seq"], job["class_name"], 1))
            elif event["kind"] in ("job.landed", "job.abandoned"):
                moves.append((event["seq"], job["class_name"], -1))
    open_jobs, most = Counter[str](), Counter[str]()
    for _, name, step in sorted(moves):
        open_jobs[name] += step
        most[name] = max(most[name], open_jobs[name])
    stage.say(
        "  most jobs open at once: " + ", ".join(f"{name} {most[name]} of {cap}" for name, cap in cards.CAPS.items())
    )
    return sum(max(0, most[name] - cards.CAPS.get(name, 0)) for name in most)
