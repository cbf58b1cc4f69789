"""What the guards refuse, judged from words and places alone: the refused call, and the nearest one that passes."""

from __future__ import annotations

import posixpath
import shlex

import pytest

from interlock.core.gate.guards import PROGRAMS, Blocked, judge, shown

LINKS = {"/ws/home": "/home/agent", "/ws/up": "/ws/.."}


def real(path: str) -> str:
    """A disk on which ``/ws/home`` leads to the home folder."""
    for link, target in LINKS.items():
        if path == link or path.startswith(f"{link}/"):
            path = target + path[len(link) :]
    return posixpath.normpath(path)


def look(
    line: str, *, cwd: str = "/ws", shared: tuple[str, ...] = (), entries: str = "src tests README.md"
) -> Blocked | None:
    return judge(
        shlex.split(line),
        cwd=cwd,
        home="/home/agent",
        tree="/ws",
        shared=shared,
        entries=frozenset(entries.split()),
        real=real,
    )


PAIRS = (
    # refused, its nearest neighbour that passes
    ("rm -rf /", "rm -rf /ws/build"),
    ("rm -rf /ws", "rm -rf /ws/x"),
    ("rm -rf /ws/..", "rm -rf /ws/x"),
    ("rm -rf ..", "rm -rf x/../y"),
    ("rm -rf ../ws", "rm -rf ../ws/src"),
    ("rm -rf /home/agent", "rm -rf /home/agent/.cache"),
    ("rm -rf /home/agent/.config/tool", "rm -f /home/agent/.local/share/tool/lock"),
    ("rm -f /home/agent/.ssh/known_hosts", "rm -f /home/agent/.cache/known_hosts"),
    ("rm -rf /home/agent/.local/share/tool", "rm -rf /home/agent/.npm/_cacache"),
    ("rm -rf /home/other", "rm -rf /data/other/mine"),
    ("rm -rf /data", "rm -rf /tmp/data"),
    ("rm /etc/passwd", "rm /tmp/passwd"),
    ("rm -rf home/", "rm -rf home"),
    ("rm -rf home/x", "rm -rf homes/x"),
    ("rm .git", "rm .gitignore"),
    ("rm -rf .git/hooks", "rm -rf vendor/.git"),
    ("rm src tests README.md", "rm src tests"),
    ("rm -r /ws/src /ws/tests ./README.md", "rm -r /ws/src /ws/tests x/README.md"),
    ("rm -- -x /etc/-y", "rm -- -x -y"),
    ("rmdir /usr", "rmdir usr"),
    ("mv /home/agent/x y", "mv x /home/agent/y"),
    ("mv x /etc/x", "mv x /tmp/x"),
    ("mv -t /etc x", "mv -t /tmp x"),
    ("mv --target-directory=/usr/bin x", "mv --target-directory=bin x"),
    ("mv x /dev/null", "mv x null"),
    ("dd if=x of=/dev/sda", "dd if=x of=/dev/null"),
    ("dd of=/etc/passwd", "dd if=/etc/passwd of=x"),
    ("mkfs.ext4 /dev/sda", "mkfs.ext4 disk.img"),
    ("mkfs -t ext4 /dev/nvme0n1", "mkfs -t ext4 /tmp/disk.img"),
    ("wipefs -a /dev/sda", "wipefs -a disk.img"),
    ("shred -n 3 home/x", "shred -n 3 src/x"),
    ("truncate -s 0 /home/agent/.bashrc", "truncate -s /0 x"),
    ("truncate -r /etc/passwd /etc/x", "truncate -r /etc/passwd x"),
    ("chmod -R 777 /", "chmod 777 /"),
    ("chmod -R 000 /ws", "chmod -R 755 /ws"),
    ("chmod -R 577 .", "chmod -R 700 ."),
    ("chmod -R u-w .", "chmod -R g-w ."),
    ("chmod -R a=r .", "chmod -R u=rwX,go=rX ."),
    ("chmod -R go+r,u-x .", "chmod -R go+r,u+x ."),
    ("chmod -R -w .", "chmod -R +w ."),
    ("chmod -R 755 /ws/.git", "chmod -R 755 /ws/src"),
    ("chown -R me home/", "chown -R me ."),
    ("chown -hR me /home/agent", "chown me /home/agent"),
    ("chgrp --recursive me /usr", "chgrp me /usr"),
    ("find / -delete", "find / -print"),
    ("find . -delete", "find . -name x -delete"),
    ("find . -type f -exec rm {} +", "find . -type f -newer x -exec rm {} +"),
    ("find . -exec sh -c 'rm $1' _ {} ;", "find . -exec grep rm {} ;"),
    ("find -L home -name x -delete", "find -L src -name x -delete"),
    ("find src /usr -delete", "find src tests -delete"),
    ("find . ! -type d -execdir unlink {} ;", "find . ! -name x -execdir unlink {} ;"),
    ("rsync -a --delete empty/ /home/agent", "rsync -a empty/ /home/agent"),
    ("rsync -a --delete-after x/ .", "rsync -a --delete-after x/ y"),
    ("rsync --del x/ /usr", "rsync --del /usr host:/usr"),
    ("git push --force", "git push"),
    ("git push -uf origin x", "git push -u origin x"),
    ("git push origin +x", "git push origin x"),
    ("git push origin :x", "git push origin x:x"),
    ("git push --mirr origin", "git push --follow-tags origin"),
    ("git push --force-with-lease=x", "git push --force-if-includes"),
    ("git push -d origin x", "git push -o d origin x"),
    ("git -c alias.y='push -f' y", "git -c alias.y='push' y"),
    ("git -c alias.y='!git push -f' y", "git -c alias.y='!echo push' y"),
    ("git -C / clean -fdx", "git clean -fdx"),
    ("git clean -fd /home/agent", "git clean -nd /home/agent"),
    ("git -C /home/agent/x reset --hard", "git -C /home/agent/x reset --soft"),
    ("git --work-tree=/home/agent checkout -f", "git --work-tree=src checkout -f"),
    ("git --git-dir /repo/.git restore .", "git restore ."),
    ("git -C /data/repo switch -f x", "git -C /data/repo switch x"),
    ("git -C /home/agent/x checkout -- a", "git -C /tmp/x checkout -- a"),
    ("git filter-branch --all", "git filter --all"),
)


@pytest.mark.parametrize(("refused", "passes"), PAIRS)
def test_the_call_is_refused_and_its_neighbour_passes(refused: str, passes: str) -> None:
    blocked = look(refused)
    assert blocked is not None
    assert all(text.endswith(".") for text in (blocked.what, blocked.why, blocked.would_change))
    assert blocked.what.startswith(shown(shlex.split(refused))[:20])
    assert look(passes) is None


@pytest.mark.parametrize(
    ("line", "cwd"),
    [
        ("rm -rf usr", "/"),
        ("rm -rf work", "/home/agent"),
        ("rm x", "/etc"),
        ("git clean -fd", "/repo"),
        ("find -delete", "/"),
    ],
)
def test_where_a_command_is_called_decides(line: str, cwd: str) -> None:
    assert look(line, cwd=cwd) is not None
    assert look(line, cwd="/ws/src") is None


@pytest.mark.parametrize(
    "line",
    [
        "git gc --prune=now",
        "git prune",
        "git reflog expire --expire=now --all",
        "git stash clear",
        "git stash drop",
        "git worktree remove ../two",
        "git branch -D agent/two",
        "git branch -M x main",
        "git update-ref -d refs/heads/x",
    ],
)
def test_what_all_trees_share_stays_and_an_own_repository_is_the_tasks(line: str) -> None:
    assert look(line, shared=("/repo",)) is not None
    assert look(line) is None


@pytest.mark.parametrize(
    "line",
    ["git gc", "git stash", "git stash pop", "git worktree list", "git branch -D x", "git prune -n", "git reflog"],
)
def test_everyday_git_passes_where_a_repository_is_shared(line: str) -> None:
    assert look(line, shared=("/repo",)) is None


def test_shared_folders_stay_and_the_tree_inside_one_does_not_count() -> None:
    shared = ("/srv/trees", "/ws/..")
    assert look("rm -rf /srv/trees/two", shared=shared) is not None
    assert look("rm -rf /srv/trees/..", shared=shared) is not None
    assert look("rm -rf /ws/build", shared=("/ws/..", "/")) is None


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("rm -rf /", "It is the root of the file system."),
        ("rm -rf /home", "It holds the home folder."),
        ("rm -rf .", ". is /ws. It is the task's whole tree."),
        ("rm -rf src tests README.md", "Together that is the task's whole tree."),
    ],
)
def test_the_reason_names_the_place(line: str, why: str) -> None:
    blocked = look(line)
    assert blocked is not None
    assert blocked.why == why


def test_one_folder_alone_is_no_whole_tree() -> None:
    assert look("rm -rf src", entries="src") is None
    assert look("rm -rf src tests", entries="src tests") is not None


def test_a_program_without_a_guard_passes() -> None:
    assert look("ls /") is None
    assert look("/usr/bin/rm -rf /") is not None
    assert "ls" not in PROGRAMS
    assert {"rm", "git", "find", "mkfs.ext4"} <= set(PROGRAMS)


def test_a_long_command_is_shown_in_one_short_line() -> None:
    line = shown(["/bin/rm", "-rf", "a\nb", *["x"] * 200])
    assert line.startswith("rm -rf 'a b'")
    assert "\n" not in line
    assert len(line) < 170


def test_nothing_is_read_from_a_disk_that_was_not_given() -> None:
    """Without a disk, names mean what they say: the same call, judged with and without the link."""
    assert judge(["rm", "-rf", "home/x"], cwd="/ws", home="/home/agent", tree="/ws") is None
    assert look("rm -rf home/x") is not None
