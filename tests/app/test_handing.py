"""Rules that are more than the policy allows keep an attempt from its start, and start it once they are pruned."""

from __future__ import annotations

POLICY = """\
train: {checks: ['true'], sign_off: none}
rules: {files: [docs/rules.md], most_bytes: 20}
"""


def test_too_many_rules_are_refused_before_anything_is_started(world, town):
    world.write("interlock.yaml", POLICY)
    world.write("docs/rules.md", "x" * 21)
    world.card("a", command="mkdir -p a; cp $INTERLOCK_PROMPT_FILE a/prompt")
    world.push()
    town().dispatch("a")
    town().run()
    assert town().rule("a") == "rules-size"
    assert town().job("a").attempt == 0
    world.write("docs/rules.md", "Be kind to files.\n")
    world.push("pruned")
    world.cli("resume", "a")
    town().run()
    assert town().rule("a") == "landed"
    assert "## Rules of the team: docs/rules.md\n\nBe kind to files." in world.git(
        "show", "HEAD:a/prompt", at=world.remote
    )
    (started,) = [each for each in town().ports.store.events(town().job("a").id) if each.kind == "attempt.started"]
    assert [(each["path"], each["bytes"], len(each["digest"])) for each in started.data["handed"]] == [
        ("docs/rules.md", 18, 64)
    ]
