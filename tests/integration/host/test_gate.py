"""The git gate with real git on both sides: what a task may push and see, and that a refused push leaves nothing behind."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.leftovers import no_thread_left

from interlock.core.problems import Refused
from interlock.core.sandbox import GIT_SOCKET, Gate, Sandbox
from interlock.host.network import ssh
from interlock.host.network.porter import serving
from interlock.host.network.settings import environment

LIB = Path(ssh.__file__).resolve().parents[3]
OUTER = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}
GATE_ONE = Gate(repository="", branch="agent/one", default="main", base="", owned=("src/**", "one.txt"))


def git(folder: Path, *args: str, ok: tuple[int, ...] = (0,), **more: Any) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ["git", "-C", str(folder), *args], env=OUTER, capture_output=True, text=True, errors="surrogateescape", **more
    )
    assert done.returncode in ok, f"git {args}: {done.returncode}\n{done.stderr}"
    return done


def commit(folder: Path, files: dict[str, str], message: str = "more") -> str:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        git(folder, "add", "--", name)
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD").stdout.strip()


@dataclass(frozen=True)
class Scene:
    """A trusted mirror with a default branch, another task's branch and a remote branch; and one task's own repository."""

    root: Path
    mirror: Path
    tree: Path
    base: str
    foreign: str

    @property
    def record(self) -> list[dict[str, Any]]:
        path = self.root / "record" / "gate.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def sandbox(self, **changes: Any) -> Sandbox:
        gate = replace(
            GATE_ONE,
            **{
                "repository": str(self.mirror),
                "base": self.base,
                "protected": ("src/locked/**", ".interlock/**"),
                **changes,
            },
        )
        return Sandbox(home=str(self.root), gate=gate, record=str(self.root / "record"))

    def refs(self) -> str:
        return git(self.mirror, "for-each-ref").stdout

    def objects(self) -> set[str]:
        listed = git(self.mirror, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").stdout
        return set(listed.split())

    def push(self, *args: str) -> subprocess.CompletedProcess[str]:
        return git(self.tree, "push", *args, ok=(0, 1, 128))


def use(scene: Scene, path: str) -> None:
    """Let the task's repository find the gate at a socket: what a sandbox does by its environment."""
    code = f"import sys; sys.path.append({str(LIB)!r}); from interlock.host.network.ssh import main; main({path!r})"
    command = f"'{os.path.realpath(sys.executable)}' -I -S -c \"{code}\""
    git(scene.tree, "config", "core.sshCommand", command)
    git(scene.tree, "config", "ssh.variant", "simple")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    seed, mirror, tree = tmp_path / "seed", tmp_path / "mirror.git", tmp_path / "tree"
    git(tmp_path, "init", "-q", "-b", "main", str(seed))
    commit(seed, {"docs/a.md": "old\n", "src/a.py": "1\n", "src/gone.py": "1\n"}, "first")
    base = commit(seed, {"docs/b.md": "old\n", "src/b.py": "1\n"}, "base")
    git(tmp_path, "init", "-q", "--bare", "-b", "interlock", str(mirror))
    git(seed, "push", "-q", str(mirror), "main:refs/remotes/origin/main")
    git(seed, "checkout", "-q", "-b", "agent/two")
    foreign = commit(seed, {"src/secret.py": "hidden = 1\n"}, "another task's work")
    git(seed, "push", "-q", str(mirror), "agent/two", "agent/two:refs/remotes/origin/agent/three")
    git(mirror, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    git(seed, "checkout", "-q", "main")
    git(tmp_path, "clone", "-q", "--no-local", "--single-branch", "-b", "main", str(seed), str(tree))
    git(tree, "checkout", "-q", "-b", "agent/one")
    git(tree, "remote", "set-url", "origin", "ssh://gate/repo")
    git(tree, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    (tmp_path / "record").mkdir()
    return Scene(root=tmp_path, mirror=mirror, tree=tree, base=base, foreign=foreign)


@pytest.fixture
def gate(scene: Scene) -> Iterator[Scene]:
    with serving(scene.sandbox(), scene.root) as binds:
        use(scene, binds[0].source)
        yield scene


def refused(scene: Scene, *args: str, rule: str = "gate", says: str = "") -> str:
    """Push, and see it refused in words, on record, and without a trace in the mirror."""
    refs, objects, told = scene.refs(), scene.objects(), len(scene.record)
    done = scene.push(*args)
    assert done.returncode != 0, done.stderr
    assert scene.refs() == refs
    assert scene.objects() == objects, "not even unreachable objects"
    new = scene.record[told:]
    assert new, done.stderr
    assert all(not each["allowed"] for each in new)
    assert new[0]["rule"] == rule, (new, done.stderr)
    assert f"rule {rule}:" in done.stderr, done.stderr
    assert "What would change it:" in done.stderr
    assert says in done.stderr, done.stderr
    return done.stderr


def test_gate_an_honest_push_is_taken_and_on_record(gate: Scene) -> None:
    new = commit(gate.tree, {"src/a.py": "2\n", "one.txt": "mine\n"})
    done = gate.push("origin", "agent/one")
    assert done.returncode == 0, done.stderr
    assert git(gate.mirror, "rev-parse", "refs/heads/agent/one").stdout.strip() == new
    assert [(each["ref"], each["new"], each["allowed"]) for each in gate.record] == [
        ("refs/heads/agent/one", new, True)
    ]
    again = commit(gate.tree, {"src/a.py": "3\n"})
    assert gate.push("origin", "agent/one").returncode == 0
    assert git(gate.mirror, "rev-parse", "refs/heads/agent/one").stdout.strip() == again
    assert gate.record[1]["old"] == new


def test_gate_a_push_to_the_default_branch_is_refused(gate: Scene) -> None:
    commit(gate.tree, {"src/a.py": "2\n"})
    refused(gate, "origin", "agent/one:main", says="refs/heads/main is not this task's branch")


# ---------------------------------------------------------------- the refs of a push
def test_gate_another_tasks_branch_is_refused(gate: Scene) -> None:
    commit(gate.tree, {"src/a.py": "2\n"})
    refused(gate, "origin", "agent/one:agent/two", says="A task pushes to agent/one alone")
    refused(gate, "-f", "origin", "agent/one:agent/brand-new")
    refused(gate, "origin", "agent/one:refs/remotes/origin/main")


def test_gate_tags_notes_and_pull_refs_are_refused(gate: Scene) -> None:
    commit(gate.tree, {"src/a.py": "2\n"})
    git(gate.tree, "tag", "v1")
    git(gate.tree, "notes", "add", "-m", "note")
    refused(gate, "origin", "v1", says="refs/tags/v1 is not")
    refused(gate, "origin", "refs/notes/commits", says="refs/notes/commits is not")
    refused(gate, "origin", "HEAD:refs/for/main")


def test_gate_a_deletion_is_refused(gate: Scene) -> None:
    commit(gate.tree, {"src/a.py": "2\n"})
    assert gate.push("origin", "agent/one").returncode == 0
    refused(gate, "origin", ":agent/one", says="may not be deleted")


def test_gate_a_forced_push_is_refused(gate: Scene) -> None:
    commit(gate.tree, {"src/a.py": "2\n"})
    assert gate.push("origin", "agent/one").returncode == 0
    git(gate.tree, "commit", "-q", "--amend", "-m", "other")
    refused(gate, "-f", "origin", "agent/one", says="would not move forward")


@pytest.mark.parametrize("atomic", [["--atomic"], []])
def test_gate_one_bad_ref_among_good_ones_refuses_them_all(gate: Scene, atomic: list[str]) -> None:
    commit(gate.tree, {"src/a.py": "2\n"})
    refused(gate, *atomic, "origin", "agent/one", "agent/one:agent/two")


def test_gate_a_name_of_odd_bytes_is_refused_and_shown_as_escapes(gate: Scene) -> None:
    commit(gate.tree, {"src/a.py": "2\n"})
    refused(gate, "origin", os.fsdecode(b"agent/one:refs/heads/agent/\xff\xfe"))
    assert gate.record[-1]["ref"] == "refs/heads/agent/\\xff\\xfe"


def test_gate_push_options_are_refused(gate: Scene) -> None:
    commit(gate.tree, {"src/a.py": "2\n"})
    before = gate.refs()
    done = gate.push("-o", "ci.skip", "origin", "agent/one")
    assert done.returncode != 0
    assert "does not support push options" in done.stderr
    assert gate.refs() == before


# ---------------------------------------------------------------- the commits of a push
def test_gate_a_path_outside_of_the_owned_ones_is_refused(gate: Scene) -> None:
    commit(gate.tree, {"src/a.py": "2\n", "docs/a.md": "new\n"})
    said = refused(gate, "origin", "agent/one", rule="outside", says="docs/a.md may not be changed")
    assert "The card owns src/**, one.txt." in said


def test_gate_a_protected_path_is_refused_though_it_is_owned(gate: Scene) -> None:
    commit(gate.tree, {"src/locked/policy.py": "new\n"})
    refused(gate, "origin", "agent/one", rule="protected", says="src/locked/policy.py")


def test_gate_a_file_that_is_changed_and_put_back_is_refused(gate: Scene) -> None:
    commit(gate.tree, {"docs/a.md": "new\n"})
    commit(gate.tree, {"docs/a.md": "old\n", "src/a.py": "2\n"})
    assert git(gate.tree, "diff", "--name-only", gate.base, "HEAD").stdout == "src/a.py\n"
    refused(gate, "origin", "agent/one", rule="outside", says="docs/a.md")


@pytest.mark.parametrize(("old", "new"), [("src/gone.py", "docs/gone.py"), ("docs/a.md", "src/a.md")])
def test_gate_a_rename_across_the_border_is_refused_from_both_sides(gate: Scene, old: str, new: str) -> None:
    git(gate.tree, "mv", old, new)
    git(gate.tree, "commit", "-q", "-m", "move")
    refused(gate, "origin", "agent/one", rule="outside", says=new if new.startswith("docs") else old)


@pytest.mark.parametrize("target", ["../docs/a.md", "/etc/passwd", "b/../../docs"])
def test_gate_a_link_out_of_the_owned_paths_is_refused(gate: Scene, target: str) -> None:
    (gate.tree / "src" / "link").symlink_to(target)
    git(gate.tree, "add", "src/link")
    git(gate.tree, "commit", "-q", "-m", "link")
    refused(gate, "origin", "agent/one", rule="symlink", says=target)


def test_gate_a_link_inside_of_the_owned_paths_is_taken(gate: Scene) -> None:
    (gate.tree / "src" / "link").symlink_to("a.py")
    git(gate.tree, "add", "src/link")
    git(gate.tree, "commit", "-q", "-m", "link")
    assert gate.push("origin", "agent/one").returncode == 0


def test_gate_a_submodule_below_an_owned_pattern_is_refused(gate: Scene) -> None:
    git(gate.tree, "update-index", "--add", "--cacheinfo", f"160000,{gate.base},src/sub")
    git(gate.tree, "commit", "-q", "-m", "sub")
    refused(gate, "origin", "agent/one", rule="submodule", says="src/sub")


def test_gate_unrelated_history_is_refused(gate: Scene) -> None:
    git(gate.tree, "checkout", "-q", "--orphan", "other")
    git(gate.tree, "rm", "-rqf", "--cached", ".")
    commit(gate.tree, {"src/a.py": "2\n"})
    refused(gate, "-f", "origin", "other:agent/one", says="no common history")
    git(gate.tree, "checkout", "-qf", "agent/one")
    git(gate.tree, "merge", "-q", "--allow-unrelated-histories", "-s", "ours", "-m", "join", "other")
    refused(gate, "-f", "origin", "agent/one", says="no common history")


def test_gate_the_default_branch_can_be_merged_in_and_nothing_hidden_in_the_merge(gate: Scene) -> None:
    mine = commit(gate.tree, {"src/a.py": "2\n"})
    seed = gate.root / "seed"
    commit(seed, {"docs/a.md": "newer\n", "docs/c.md": "new\n"}, "others landed")
    git(seed, "push", "-q", str(gate.mirror), "main:refs/remotes/origin/main")
    git(gate.tree, "fetch", "-q", "origin", "main")
    git(gate.tree, "merge", "-q", "--no-commit", "--no-ff", "FETCH_HEAD")
    git(gate.tree, "commit", "-q", "-m", "merge")
    assert gate.push("origin", "agent/one").returncode == 0
    git(gate.tree, "checkout", "-q", mine)
    git(gate.tree, "merge", "-q", "--no-commit", "--no-ff", "origin/main")
    (gate.tree / "docs" / "b.md").write_text("slipped in\n")
    git(gate.tree, "commit", "-qam", "merge")
    git(gate.mirror, "update-ref", "-d", "refs/heads/agent/one")
    refused(gate, "origin", "HEAD:refs/heads/agent/one", rule="outside", says="docs/b.md")


def test_gate_a_pack_that_git_finds_broken_is_refused(gate: Scene) -> None:
    tree = git(gate.tree, "rev-parse", "HEAD^{tree}").stdout.strip()
    text = f"tree {tree}\nparent {gate.base}\nauthor nobody 1 +0000\ncommitter nobody 1 +0000\n\nx\n"
    made = git(gate.tree, "hash-object", "-w", "-t", "commit", "--literally", "--stdin", input=text).stdout.strip()
    refs, objects = gate.refs(), gate.objects()
    done = gate.push("origin", f"{made}:refs/heads/agent/one")
    assert done.returncode != 0
    assert (gate.refs(), gate.objects()) == (refs, objects)
    assert gate.record[-1]["rule"] == "gate"
    assert "missingEmail" in gate.record[-1]["why"] + done.stderr


def test_gate_a_push_that_is_too_large_is_refused(scene: Scene) -> None:
    with serving(scene.sandbox(most_bytes=50_000), scene.root) as binds:
        use(scene, binds[0].source)
        (scene.tree / "src" / "big").write_bytes(os.urandom(200_000))
        git(scene.tree, "add", "src/big")
        git(scene.tree, "commit", "-q", "-m", "big")
        refs, objects = scene.refs(), scene.objects()
        done = scene.push("origin", "agent/one")
        assert done.returncode != 0
        assert (scene.refs(), scene.objects()) == (refs, objects)
        assert "maximum allowed size" in done.stderr
        assert "maximum allowed size" in scene.record[-1]["why"]
        git(scene.tree, "reset", "-q", "--hard", scene.base)
        commit(scene.tree, {"src/zeros": "0" * 200_000})
        refused(scene, "origin", "agent/one", says="when unpacked")


# ---------------------------------------------------------------- what can be seen
def test_gate_a_fetch_shows_the_tasks_branch_and_the_default_one_and_nothing_else(gate: Scene) -> None:
    mine = commit(gate.tree, {"src/a.py": "2\n"})
    assert gate.push("origin", "agent/one").returncode == 0
    shown = git(gate.tree, "ls-remote", "--symref", "origin").stdout.split("\n")
    assert shown == [
        "ref: refs/heads/main\tHEAD",
        f"{gate.base}\tHEAD",
        f"{mine}\trefs/heads/agent/one",
        f"{gate.base}\trefs/heads/main",
        "",
    ]
    git(gate.tree, "fetch", "-q", "origin")
    git(gate.tree, "fetch", "-q", "origin", "main")
    assert git(gate.tree, "rev-parse", "origin/main", "origin/agent/one").stdout.split() == [gate.base, mine]
    assert git(gate.tree, "fetch", "origin", gate.foreign, ok=(1, 128)).returncode
    assert git(gate.tree, "cat-file", "-e", gate.foreign, ok=(1, 128)).returncode, "the hidden commit did not come"


@dataclass
class Raw:
    """A client that says what it likes."""

    sock: socket.socket

    def offer(self) -> bytes:
        kind, data = self.frame()
        assert kind == ssh.OUT
        return data

    def frame(self) -> tuple[int, bytes]:
        header = self.exactly(5)
        return (0, b"") if len(header) < 5 else (header[0], self.exactly(int.from_bytes(header[1:], "big")))

    def exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count and (data := self.sock.recv(count - len(found))):
            found += data
        return found

    def rest(self) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        while (frame := self.frame())[0]:
            found[frame[0]] = found.get(frame[0], b"") + frame[1]
        return found


Talk = Callable[[str, bytes], Raw]


@pytest.fixture
def raw() -> Iterator[Talk]:
    opened: list[socket.socket] = []

    def talk(path: str, first: bytes) -> Raw:
        opened.append(sock := socket.socket(socket.AF_UNIX))
        sock.settimeout(20)
        sock.connect(path)
        sock.sendall(first)
        return Raw(sock)

    yield talk
    for each in opened:
        each.close()


def packet(text: bytes) -> bytes:
    return b"%04x" % (len(text) + 4) + text


def test_gate_a_want_of_a_hidden_commit_is_refused(scene: Scene, raw: Talk) -> None:
    with serving(scene.sandbox(), scene.root) as binds:
        client = raw(binds[0].source, b"upload-pack\n")
        offer = client.offer()
        assert b"agent/two" not in offer
        assert scene.foreign.encode() not in offer
        client.sock.sendall(packet(b"want %s side-band-64k\n" % scene.foreign.encode()) + b"0000" + packet(b"done\n"))
        heard = client.rest()
        assert b"PACK" not in heard.get(ssh.OUT, b"")
        assert b"not our ref" in heard[ssh.ERR] + heard.get(ssh.OUT, b"")
        assert heard[ssh.EXIT] != b"\0"
        mine = raw(binds[0].source, b"upload-pack\n")
        mine.offer()
        mine.sock.sendall(packet(b"want %s\n" % scene.base.encode()) + b"0000" + packet(b"done\n"))
        assert b"PACK" in mine.rest()[ssh.OUT], "the same words bring what may be seen"


def test_gate_a_branch_that_is_not_shown_cannot_be_deleted_or_moved_either(scene: Scene, raw: Talk) -> None:
    before = scene.refs(), scene.objects()
    with serving(scene.sandbox(), scene.root) as binds:
        for ref in (b"refs/heads/agent/two", b"refs/remotes/origin/main", b"HEAD"):
            for new in (b"0" * 40, scene.base.encode()):
                client = raw(binds[0].source, b"receive-pack\n")
                client.offer()
                line = b"%s %s %s\0report-status" % (scene.foreign.encode(), new, ref)
                client.sock.sendall(packet(line) + b"0000")
                client.sock.shutdown(socket.SHUT_WR)
                assert b"ng %s gate" % ref in client.rest()[ssh.OUT]
    assert (scene.refs(), scene.objects()) == before
    assert len(scene.record) == 6


def test_gate_another_tasks_file_cannot_be_had_by_naming_it(scene: Scene, raw: Talk) -> None:
    """A commit of one's own may not use an object that one was never given: fetching it back would show it."""
    git(scene.tree, "fetch", "-q", str(scene.root / "seed"), "agent/two")
    secret = git(scene.tree, "rev-parse", "FETCH_HEAD:src/secret.py").stdout.strip()
    git(scene.tree, "update-index", "--add", "--cacheinfo", f"100644,{secret},src/mine.py")
    git(scene.tree, "commit", "-q", "-m", "take it")
    new = git(scene.tree, "rev-parse", "HEAD").stdout.strip()
    carried = git(scene.tree, "rev-list", "--objects", new, f"^{scene.base}").stdout.splitlines()
    names = "".join(f"{line.split()[0]}\n" for line in carried if not line.startswith(secret))
    pack = subprocess.run(
        ["git", "-C", str(scene.tree), "pack-objects", "--stdout", "-q"],
        input=names.encode(),
        env=OUTER,
        check=True,
        capture_output=True,
    ).stdout
    before = scene.refs(), scene.objects()
    with serving(scene.sandbox(), scene.root) as binds:
        client = raw(binds[0].source, b"receive-pack\n")
        client.offer()
        line = b"%s %s refs/heads/agent/one\0report-status" % (b"0" * 40, new.encode())
        client.sock.sendall(packet(line) + b"0000" + pack)
        heard = client.rest()
    assert b"ng refs/heads/agent/one" in heard[ssh.OUT]
    assert (scene.refs(), scene.objects()) == before
    assert "not part of the push" in scene.record[-1]["why"]


def send(scene: Scene, raw: Talk, new: str, pack: bytes, old: str = "0" * 40) -> bytes:
    """What the gate answers to a push in a client's own words."""
    with serving(scene.sandbox(), scene.root) as binds:
        client = raw(binds[0].source, b"receive-pack\n")
        assert b" no-thin" in client.offer()
        line = b"%s %s refs/heads/agent/one\0report-status" % (old.encode(), new.encode())
        client.sock.sendall(packet(line) + b"0000" + pack)
        client.sock.shutdown(socket.SHUT_WR)
        return client.rest()[ssh.OUT]


def pack_of(scene: Scene, names: str, *options: str) -> bytes:
    return subprocess.run(
        ["git", "-C", str(scene.tree), "pack-objects", "--stdout", "-q", *options],
        input=names.encode(),
        env=OUTER,
        check=True,
        capture_output=True,
    ).stdout


def entry(kind: int, size: int) -> bytes:
    """The head of an object in a pack: its kind and its size."""
    found = bytes([kind << 4 | size & 15 | (0x80 if size > 15 else 0)])
    size >>= 4
    while size:
        found += bytes([size & 127 | (0x80 if size > 127 else 0)])
        size >>= 7
    return found


def with_delta(pack: bytes, base: str, size: int, text: bytes) -> bytes:
    """The pack with a further object: text, told as a change of a base of that size that the pack does not hold."""
    delta = bytes([size, len(text), len(text)]) + text
    body = pack[:8] + (int.from_bytes(pack[8:12]) + 1).to_bytes(4) + pack[12:-20]
    body += entry(7, len(delta)) + bytes.fromhex(base) + zlib.compress(delta)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


@pytest.mark.parametrize("used", [True, False])
def test_gate_another_tasks_file_cannot_be_had_as_the_base_of_a_delta(scene: Scene, raw: Talk, used: bool) -> None:
    """Git would copy the base into the push to make the pack whole, and then it looks like a part of the push."""
    git(scene.tree, "fetch", "-q", str(scene.root / "seed"), "agent/two")
    secret = git(scene.tree, "rev-parse", "FETCH_HEAD:src/secret.py").stdout.strip()
    if used:
        git(scene.tree, "update-index", "--add", "--cacheinfo", f"100644,{secret},src/mine.py")
    new = commit(scene.tree, {"src/q.py": "Q"})
    text = git(scene.tree, "rev-parse", "HEAD:src/q.py").stdout.strip()
    carried = git(scene.tree, "rev-list", "--objects", new, f"^{scene.base}").stdout.splitlines()
    names = "".join(f"{line.split()[0]}\n" for line in carried if line.split()[0] not in (secret, text))
    before = scene.refs(), scene.objects()
    answer = send(scene, raw, new, with_delta(pack_of(scene, names), secret, len("hidden = 1\n"), b"Q"))
    assert b"ng refs/heads/agent/one" in answer, answer
    assert (scene.refs(), scene.objects()) == before
    assert not scene.record[-1]["allowed"]


def test_gate_a_file_is_not_known_for_the_name_that_another_one_has(scene: Scene, raw: Talk) -> None:
    """A name in a tree may hold a form feed and the name of a hidden object behind it."""
    git(scene.tree, "fetch", "-q", str(scene.root / "seed"), "agent/two")
    secret = git(scene.tree, "rev-parse", "FETCH_HEAD:src/secret.py").stdout.strip()
    first = commit(scene.tree, {f"src/x\x0c{secret}": "mine\n"})
    names = git(scene.tree, "rev-list", "--objects", "--no-object-names", first, f"^{scene.base}").stdout
    assert b"ok refs/heads/agent/one" in send(scene, raw, first, pack_of(scene, names)), "odd, and not refused"
    git(scene.tree, "update-index", "--add", "--cacheinfo", f"100644,{secret},src/mine.py")
    new = commit(scene.tree, {"src/a.py": "2\n"})
    names = git(scene.tree, "rev-list", "--objects", "--no-object-names", new, f"^{first}").stdout
    before = scene.refs(), scene.objects()
    answer = send(scene, raw, new, pack_of(scene, names.replace(f"{secret}\n", "")), first)
    assert b"ng refs/heads/agent/one" in answer, answer
    assert (scene.refs(), scene.objects()) == before
    assert "not part of the push" in scene.record[-1]["why"]


def test_gate_a_small_change_of_a_large_file_is_taken_and_git_has_nothing_to_say(gate: Scene) -> None:
    """Git's own client would send it as a delta against what was pushed before, and is told not to."""
    lines = [os.urandom(20).hex() for _ in range(2000)]
    commit(gate.tree, {"src/big.txt": "\n".join(lines)})
    said = gate.push("origin", "agent/one")
    new = commit(gate.tree, {"src/big.txt": "\n".join([*lines[:1000], "changed", *lines[1000:]])})
    again = gate.push("origin", "agent/one")
    assert (said.returncode, again.returncode) == (0, 0), said.stderr + again.stderr
    assert git(gate.mirror, "rev-parse", "refs/heads/agent/one").stdout.strip() == new
    assert "hint" not in said.stderr + again.stderr
    assert "grafts" not in said.stderr + again.stderr


@pytest.mark.parametrize(
    "sent",
    [b"upload-archive\n", b"receive-pack --help\n", b"\n", b"receive-pack\0\n", b"x" * 70_000, b"receive-pack"],
)
def test_gate_anything_but_the_two_words_is_closed_without_an_answer(scene: Scene, sent: bytes, raw: Talk) -> None:
    with serving(scene.sandbox(), scene.root) as binds:
        client = raw(binds[0].source, b"")
        try:
            client.sock.sendall(sent)
            client.sock.shutdown(socket.SHUT_WR)
            assert client.sock.recv(1) == b""
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert [entry["rule"] for entry in scene.record] == ([] if sent == b"receive-pack" else ["gate"])


@pytest.mark.parametrize(
    "sent",
    [
        packet(b"push-cert\0report-status\n") + b"0000",
        packet(b"shallow " + b"1" * 40) + b"0000",
        packet(b"%s %s refs/heads/agent/one\nrefs/heads/main\0" % (b"0" * 40, b"1" * 40)) + b"0000",
        b"zzzz",
        b"0003",
        b"fff9" + b"x" * 70_000,
        packet(b"%s %s refs/heads/x\0" % (b"0" * 40, b"1" * 40)) * 2000 + b"0000",
    ],
    ids=["certificate", "shallow", "two names", "no length", "short length", "long length", "many"],
)
def test_gate_a_malformed_push_is_cut_off(scene: Scene, sent: bytes, raw: Talk) -> None:
    before = scene.refs(), scene.objects()
    with serving(scene.sandbox(), scene.root) as binds:
        client = raw(binds[0].source, b"receive-pack\n")
        client.offer()
        try:
            client.sock.sendall(sent)
            assert b"unpack ok" not in client.rest().get(ssh.OUT, b"")
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert (scene.refs(), scene.objects()) == before
    assert {(entry["rule"], entry["allowed"]) for entry in scene.record} == {("gate", False)}


# ---------------------------------------------------------------- how it stands
def test_gate_ends_with_its_block_and_leaves_nothing(scene: Scene, raw: Talk) -> None:
    files, children = set(os.listdir("/proc/self/fd")), _children()
    with no_thread_left(), serving(scene.sandbox(), scene.root) as binds:
        client = raw(binds[0].source, b"receive-pack\n")
        client.offer()
        fresh = {number: name for number, name in _children().items() if number not in children}
        assert any("receive-pack" in name for name in fresh.values()), fresh
    assert client.sock.recv(1) == b""
    assert not _children().keys() & fresh.keys()
    client.sock.close()
    assert set(os.listdir("/proc/self/fd")) <= files
    assert sorted(path.name for path in scene.root.iterdir()) == ["mirror.git", "record", "seed", "tree"]


def test_gate_a_push_that_is_broken_off_leaves_nothing_in_the_mirror(scene: Scene, raw: Talk) -> None:
    new = commit(scene.tree, {"src/a.py": os.urandom(50_000).hex()})
    names = git(scene.tree, "rev-list", "--objects", new, f"^{scene.base}").stdout
    pack = subprocess.run(
        ["git", "-C", str(scene.tree), "pack-objects", "--stdout", "-q"],
        input="".join(f"{line.split()[0]}\n" for line in names.splitlines()).encode(),
        env=OUTER,
        check=True,
        capture_output=True,
    ).stdout
    line = packet(b"%s %s refs/heads/agent/one\0report-status" % (b"0" * 40, new.encode())) + b"0000"
    before = scene.refs(), scene.objects()
    for ends_first in ("client", "block"):
        with serving(scene.sandbox(), scene.root) as binds:
            client = raw(binds[0].source, b"receive-pack\n")
            client.offer()
            client.sock.sendall(line + pack[: len(pack) // 2])
            until = time.monotonic() + 20
            while not list(scene.mirror.glob("objects/tmp_objdir*")) and time.monotonic() < until:
                time.sleep(0.01)
            assert list(scene.mirror.glob("objects/tmp_objdir*")), "it is under way"
            if ends_first == "client":
                client.sock.close()
                while list(scene.mirror.glob("objects/tmp_objdir*")) and time.monotonic() < until:
                    time.sleep(0.01)
        assert not list(scene.mirror.glob("objects/tmp_objdir*/**/*")), ends_first
        assert (scene.refs(), scene.objects()) == before


def _children() -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path(f"/proc/{name}/stat").read_text()
                line = Path(f"/proc/{name}/cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == os.getpid():
                found[int(name)] = line
    return found


def test_gate_takes_a_few_connections_at_once_and_no_more(scene: Scene, raw: Talk) -> None:
    with serving(scene.sandbox(), scene.root) as binds:
        clients = [raw(binds[0].source, b"receive-pack\n") for _ in range(8)]
        for client in clients:
            client.offer()
        more = raw(binds[0].source, b"")
        assert more.sock.recv(1) == b""


def test_gate_that_cannot_run_its_hook_takes_nothing(scene: Scene) -> None:
    """Git passes over a hook that it cannot run."""
    with serving(scene.sandbox(), scene.root) as binds:
        use(scene, binds[0].source)
        (hook,) = scene.root.glob("gate-*/hooks/pre-receive")
        hook.chmod(0o600)
        commit(scene.tree, {"docs/a.md": "new\n"})
        before = scene.refs()
        done = scene.push("origin", "agent/one")
        assert done.returncode != 0
        assert "Nothing can be run from" in done.stderr
        assert scene.refs() == before


def test_gate_of_the_default_branch_is_not_opened(scene: Scene) -> None:
    with pytest.raises(Refused, match="default branch"), serving(scene.sandbox(branch="main"), scene.root):
        pass
    assert not list(scene.root.glob("sockets-*"))


def test_gate_works_below_a_folder_of_any_length(scene: Scene) -> None:
    deep = scene.root / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    with serving(scene.sandbox(), deep) as binds:
        short = scene.root / "s"
        short.symlink_to(Path(binds[0].source).parent)
        use(scene, f"/proc/self/cwd/{'s/git'}" if len(str(short)) > 90 else str(short / "git"))
        done = subprocess.run(["git", "-C", str(scene.tree), "ls-remote", "origin"], env=OUTER, capture_output=True)
        assert done.returncode == 0 or len(str(short)) > 90, done.stderr
    assert list(deep.iterdir()) == []


def test_gate_names_inside_are_those_of_the_sandbox() -> None:
    assert ssh.SOCKET == GIT_SOCKET
    given = environment(Sandbox(home="/h", gate=GATE_ONE), python="/usr/bin/python3")
    assert given["GIT_SSH_VARIANT"] == "simple"
    assert given["GIT_SSH_COMMAND"].startswith("/usr/bin/python3 -I -S -c ")
    assert environment(Sandbox(home="/h")) == {}
