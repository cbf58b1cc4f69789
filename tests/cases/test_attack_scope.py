"""Attacks on scope that are refused: what an agent does to its tree, its index and the shared repository to hide a change."""

from __future__ import annotations

import pytest

OWNED = "mkdir -p {0} && echo 1 > {0}/f"
ATTACKS = {
    "skip-worktree": ("git update-index --skip-worktree src/keep; echo 9 > src/keep", "outside"),
    "assume-unchanged": ("git update-index --assume-unchanged src/keep; echo 9 > src/keep", "outside"),
    "shared-exclude": (
        'echo src/new >> "$(git rev-parse --git-common-dir)/info/exclude"; echo 9 > src/new',
        "outside",
    ),
    "mode-alone": ("chmod +x src/keep", "outside"),
    "folder-for-a-file": ("rm src/keep; mkdir src/keep; echo 1 > src/keep/f", "outside"),
    "link-for-the-folder": ("rm -rf link-for-the-folder; ln -s src link-for-the-folder", "outside"),
    "letter-case": ("mkdir Letter-case; echo 1 > Letter-case/f", "outside"),
    "odd-name": ("touch \"$(printf 'bad\\377\\nname')\"", "outside"),
    "nested-repository": (
        (
            "mkdir nested-repository/in; cd nested-repository/in; git init -q; echo 1 > f; git add f;"
            " git -c user.name=x -c user.email=x commit -qm x"
        ),
        "submodule",
    ),
    "repository-over-tracked": (
        "cd src; git init -q; echo 9 > keep; git add -A; git -c user.name=x -c user.email=x commit -qm x",
        "outside",
    ),
    "forced-ignored": ("git add -f .agent-env", "outside"),
    "all-ignored": ("echo '*' > all-ignored/.gitignore", "empty-diff"),
}


@pytest.mark.long
def test_what_an_agent_hides_is_seen(world, town):
    world.write("src/keep", "1\n")
    for slug, (attack, _) in ATTACKS.items():
        world.card(slug, command=f"{OWNED.format(slug)}; {attack}")
    world.write("tasks/caps.txt", f"vertical-slice {len(ATTACKS)}\n")
    world.push()
    town().dispatch(*ATTACKS)
    town().run()
    assert {slug: rule for slug, (_, rule) in ATTACKS.items()} == {slug: town().rule(slug) for slug in ATTACKS}
    assert {"src/keep"} == {path for path in world.main_files() if not path.startswith(("tasks/", "interlock"))}


@pytest.mark.long
def test_what_an_agent_does_to_its_own_git_does_not_change_what_lands(world, town):
    """Its branch moved, its commits pruned, its .git file gone: the harness takes the files as they are."""
    honest = {
        "branch-moved": "git checkout -q --detach; git branch -f agent/branch-moved HEAD; git checkout -q agent/branch-moved",
        "no-index": '/bin/rm "$(git rev-parse --git-dir)/index"',
        "no-git-file": "/bin/rm .git",
        "other-repository": "rm .git; git init -q; git add -A",
        "half-a-merge": 'git rev-parse HEAD > "$(git rev-parse --git-dir)/MERGE_HEAD"',
        "not-files": "mkfifo not-files/pipe",
    }
    for slug, what in honest.items():
        world.card(slug, command=f"{OWNED.format(slug)}; {what}")
    world.write("tasks/caps.txt", f"vertical-slice {len(honest)}\n")
    world.push()
    town().dispatch(*honest)
    town().run()
    assert dict.fromkeys(honest, "landed") == {slug: town().rule(slug) for slug in honest}
    assert {f"{slug}/f" for slug in honest} == {path for path in world.main_files() if path.endswith("/f")}


def test_commits_pushed_to_the_branch_after_the_test_do_not_land(world, town):
    world.write("interlock.yaml", "train: {checks: ['true']}\n")
    world.card("a", command=OWNED.format("a"))
    world.push()
    town().dispatch("a")
    town().run()
    tree = world.root / "repo-tasks" / "a"
    (tree / "late").write_text("x")
    world.git("add", "-A", at=tree)
    world.git("commit", "-qm", "late", at=tree)
    world.git("push", "-qf", "origin", "agent/a", at=tree)
    from interlock.app.sign_off import sign_off

    sign_off(town().ports, "@ana")
    town().run()
    assert town().rule("a") == "head-moved"
    assert not {"late", "a/f"} & world.main_files(), "neither what nobody judged, nor what somebody went on from"
