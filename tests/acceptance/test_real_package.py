"""A real package through the whole flow: itsdangerous from its source distribution, with real edits, good and bad."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

AGENT = Path(__file__).with_name("real_package_agent.py")
PACKAGE = "itsdangerous==2.2.0"
SHA256 = "e0050c0b7da1eea53ffaf149c0cfbb5c6e2e2b69c4bef22c81fa6eb73e5f6173"
# Without the plug-ins of our own environment, whose start takes longer than these tests.
PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {shlex.quote(sys.executable)} -m pytest -q -o pythonpath=src"
TESTS = "tests/test_itsdangerous"

pytestmark = [pytest.mark.long, pytest.mark.timeout(420)]

# slug → class, owned paths, what its check runs, what is to come of it (landed, or the rule that refuses)
CARDS = {
    "newest-key": (
        "vertical-slice",
        ["src/itsdangerous/signer.py", f"{TESTS}/test_signer.py"],
        f"{TESTS}/test_signer.py",
        "landed",
    ),
    "base64-length": (
        "vertical-slice",
        ["src/itsdangerous/encoding.py", f"{TESTS}/test_encoding.py"],
        f"{TESTS}/test_encoding.py",
        "landed",
    ),
    "signed-age": (
        "vertical-slice",
        ["src/itsdangerous/timed.py", f"{TESTS}/test_timed.py"],
        f"{TESTS}/test_timed.py",
        "landed",
    ),
    "docs-examples": ("bug-fix", ["docs/**"], TESTS, "outside"),
    "plain-errors": ("bug-fix", ["src/itsdangerous/exc.py"], TESTS, "tests-failed"),
    "serializer-tests": ("tests", [f"{TESTS}/test_serializer.py"], f"{TESTS}/test_serializer.py", "tests-removed"),
}


def run(*argv: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked source distribution.  Under CI a missing download is a failure, elsewhere a skip with its reason."""
    folder = tmp_path_factory.mktemp("sdist")
    argv = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "itsdangerous", PACKAGE]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = f"{PACKAGE} cannot be downloaded: {done.stderr.strip()[-300:]}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    (archive,) = folder.glob("*.tar.gz")
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == SHA256
    subprocess.run(["tar", "xzf", archive.name], cwd=folder, check=True)
    return folder / "itsdangerous-2.2.0"


class Place:
    """A repository of the package with a bare remote, and interlock run in it."""

    def __init__(self, folder: Path, package: Path) -> None:
        self.remote, self.repo = folder / "remote.git", folder / "repo"
        package.rename(self.repo)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "INTERLOCK_", "PYTEST_"))}
        config = folder / "gitconfig"
        config.write_text(
            "[user]\n\tname = Ana\n\temail = ana@example.org\n[init]\n\tdefaultBranch = main\n", encoding="utf-8"
        )
        self.env = kept | {"GIT_CONFIG_GLOBAL": str(config)}
        self.git("init", "-q", "--bare", str(self.remote))
        self.git("init", "-q")
        self.git("remote", "add", "origin", str(self.remote))
        self._contract()
        self.git("add", "-A")
        self.git("commit", "-qm", "itsdangerous 2.2.0, with cards")
        self.git("push", "-q", "origin", "main")

    def _contract(self) -> None:
        tasks = self.repo / "tasks"
        tasks.mkdir()
        (tasks / "caps.txt").write_text("vertical-slice 3\nbug-fix 2\ntests 1\n", encoding="utf-8")
        policy = {"train": {"checks": [{"run": PYTEST, "report": {"at_least": 290}}]}, "review_wip": 6}
        (self.repo / "interlock.yaml").write_text(json.dumps(policy), encoding="utf-8")
        (self.repo / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n", encoding="utf-8")
        for slug in CARDS:
            (tasks / f"{slug}.yaml").write_text(json.dumps(card(slug)), encoding="utf-8")

    def git(self, *args: str, cwd: Path | None = None) -> str:
        done = run("git", *args, cwd=cwd or self.repo, env=self.env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def interlock(self, *args: str) -> dict[str, Any]:
        done = run(sys.executable, "-m", "interlock", *args, "--json", cwd=self.repo, env=self.env)
        assert done.returncode == 0, f"{args}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        told: dict[str, Any] = json.loads(done.stdout)
        return told


def card(slug: str) -> dict[str, Any]:
    class_name, owned, check, _ = CARDS[slug]
    return {
        "slug": slug,
        "class": class_name,
        "goal": f"Do {slug}, as its agent does it.",
        "owned_paths": owned,
        "depends_on": [],
        "checks": [{"run": f"{PYTEST} {check}", "report": {"at_least": 1}}],
        "done_when": ["its tests pass"],
        "stop_when": ["a change outside owned_paths is needed"],
        "integration_owner": "@ana",
        "agent": {"use": "command", "command": shlex.join([sys.executable, str(AGENT), slug])},
    }


def test_real_edits_land_and_bad_ones_are_refused(package: Path, tmp_path: Path) -> None:
    place = Place(tmp_path, package)
    assert place.interlock("card", "check")["ready"]
    admitted = place.interlock("dispatch", *CARDS)["results"]
    assert [item["slug"] for item in admitted if item["admitted"]] == list(CARDS)

    for _ in range(4):
        place.interlock("run")
        if not any(member["state"] == "tested" for member in place.interlock("train", "show")["members"]):
            break
        place.interlock("sign-off", "--as", "@ana")

    train = place.interlock("train", "show")
    waiting = {item["slug"]: item["rule"] for item in place.interlock("status")["needs_a_person"]}
    came_of_it = {landing["slug"]: "landed" for landing in train["landed"]} | waiting
    assert came_of_it == {slug: expected for slug, (*_, expected) in CARDS.items()}
    assert all(landing["tree"] == landing["tested_tree"] for landing in train["landed"])
    check_default_branch(place, tmp_path / "clone")


def check_default_branch(place: Place, clone: Path) -> None:
    """Every commit of the default branch is green with what should be in it, and the refused edits are not there."""
    place.git("clone", "-q", str(place.remote), str(clone))
    for commit in place.git("rev-list", "--first-parent", "--reverse", "HEAD", cwd=clone).split():
        place.git("checkout", "-q", commit, cwd=clone)
        done = run("bash", "-c", PYTEST, cwd=clone, env=place.env)
        assert done.returncode == 0, done.stdout[-2000:]
    assert "307 passed" in done.stdout, done.stdout[-300:]
    source = "".join(path.read_text(encoding="utf-8") for path in (clone / "src" / "itsdangerous").glob("*.py"))
    assert all(name in source for name in ("signed_by_newest", "base64_length", "def age"))
    assert "See docs/concepts.rst" not in source
    assert "test_digests" in (clone / TESTS / "test_serializer.py").read_text(encoding="utf-8")
