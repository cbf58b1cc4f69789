"""Real Chromium in real sandboxes: roles with credentials of their own, tasks that do not see each other's."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from interlock.adapters.browsers.chromium import ChromiumBrowsers
from interlock.core.contract.around import Browser
from interlock.core.sandbox import HOME, Bind, Sandbox
from interlock.host import processes
from interlock.host.sandbox import bwrap, identity

pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are Linux alone")]

# Debian's /usr/bin/chromium is a script that reads /etc, most of which a sandbox does not hold.
PROGRAMS = ("/usr/lib/chromium/chromium", "/usr/lib64/chromium-browser/chromium-browser")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --password-store=basic"
)
PAGE = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        if "=" in self.path:
            self.send_header("Set-Cookie", "who=" + self.path.split("=")[1] + "; Max-Age=86400")
        self.end_headers()
        self.wfile.write(b'''<p id=o></p><script>
if (location.search) localStorage.setItem("who", location.search.slice(4))
o.textContent = "SEES cookie=" + document.cookie + " storage=" + localStorage.getItem("who") + " END"
</script>''')
    def log_message(self, *words): pass
http.server.ThreadingHTTPServer(("127.0.0.1", 3000), Handler).serve_forever()
"""


@pytest.fixture
def chromium() -> str:
    program = next((each for each in PROGRAMS if os.access(each, os.X_OK)), None)
    lacks = [] if program else ["no Chromium"]
    lacks += [] if bwrap.find(overlay=False) else ["no bubblewrap"]
    lacks += [] if shutil.which("python3", path="/usr/bin") else ["no /usr/bin/python3"]
    if lacks and os.environ.get("CI") == "true":
        pytest.fail(f"{', '.join(lacks)} on this machine, and CI must run this")
    if lacks:
        pytest.skip(f"{', '.join(lacks)} on this machine")
    return program or ""


class Task:
    """A task's folders on this machine, and browsers in its sandbox."""

    def __init__(self, root: Path, chromium: str) -> None:
        self.root = root
        self.chromium = chromium
        self.user = identity.default_user()
        for name in ("home", "tree", "browser"):
            (root / name).mkdir(parents=True)
        (root / "tree" / "page.py").write_text(PAGE)

    def profile(self, role: str, golden: Path | None) -> Path:
        browser = Browser(role=role, golden=str(golden) if golden else None)
        return ChromiumBrowsers().profile(browser, self.root / "browser" / role)

    def visit(self, role: str, *, path: str = "/", before: str = "", rest: str = "") -> str:
        """What the page says to the browser of a role; the page is served inside as well."""
        return self.run(f"{before} {self.browse(role, path)} {rest}", role)

    def browse(self, role: str, path: str = "/") -> str:
        return f"{self.chromium} {FLAGS} --user-data-dir={HOME}/browser/{role} --dump-dom http://127.0.0.1:3000{path}"

    def run(self, command: str, *roles: str) -> str:
        for each in (self.root / name for name in ("home", "tree", "browser")):
            identity.own(each, self.user)
        binds = tuple(
            Bind(source=str(self.root / "browser" / role), target=f"{HOME}/browser/{role}", writable=True)
            for role in roles
        )
        sandbox = Sandbox(home=str(self.root / "home"), tree=str(self.root / "tree"), binds=binds, user=self.user)
        log = self.root / "log"
        wait = "until (exec 3<>/dev/tcp/127.0.0.1/3000) 2>/dev/null; do sleep 0.05; done"
        ended = processes.run(
            ("bash", "-c", f"/usr/bin/python3 page.py & {wait}; {command}"),
            env={"PATH": "/usr/bin:/bin", "HOME": HOME, "LANG": "C.UTF-8"},
            cwd=self.root / "tree",
            log=log,
            sandbox=sandbox,
            limits=processes.Limits(wall=60),
        )
        text = log.read_text(errors="replace")
        assert ended.how == "exited", text
        return text


def sees(text: str) -> tuple[str, str]:
    found = re.search(r"SEES cookie=(?:who=)?(\w*) storage=(\w+) END<", text)
    assert found, text
    return found[1], found[2]


@pytest.fixture
def task(tmp_path: Path, chromium: str):
    return lambda name: Task(tmp_path / name, chromium)


@pytest.fixture
def golden(tmp_path: Path, task) -> dict[str, Path]:
    """Two profiles that are signed in, each as its role."""
    maker = task("maker")
    made = {}
    for role in ("customer", "operator"):
        maker.profile(role, None)
        assert sees(maker.visit(role, path=f"/?as={role}")) == (role, role)
        made[role] = maker.root / "browser" / role
    return made


def test_each_role_has_its_own_credentials_and_no_task_sees_anothers(task, golden: dict[str, Path]) -> None:
    one, two = task("one"), task("two")
    for each in (one, two):
        for role, source in golden.items():
            each.profile(role, source)
    assert sees(one.visit("customer")) == ("customer", "customer")
    assert sees(one.visit("operator")) == ("operator", "operator")

    assert sees(one.visit("customer", path="/?as=mallory")) == ("mallory", "mallory")
    assert sees(one.visit("customer")) == ("mallory", "mallory"), "the task's own profile lasts"
    assert sees(two.visit("customer")) == ("customer", "customer"), "another task's is its own"
    assert sees(one.visit("operator")) == ("operator", "operator"), "another role's as well"

    inside = one.run("find / -path /usr -prune -o -name Cookies -print 2>/dev/null", "customer")
    assert inside.split() == [f"{HOME}/browser/customer/Default/Cookies"], "no other profile is in reach"


def test_a_browser_that_was_killed_does_not_keep_the_next_one_out(task, golden: dict[str, Path]) -> None:
    one = task("one")
    made = one.profile("customer", golden["customer"])
    killed = f"{one.browse('customer').replace('--dump-dom', '')} & sleep 2; kill -9 %2; kill -9 -1"
    one.run(f"set -m; {killed} || true", "customer")
    assert (made / "SingletonLock").is_symlink(), "it left its lock, or this test tells nothing"
    one.profile("customer", golden["customer"])
    assert sees(one.visit("customer")) == ("customer", "customer")


def test_two_browsers_in_one_profile_at_once_are_refused_by_the_browser(task, golden: dict[str, Path]) -> None:
    one = task("one")
    one.profile("customer", golden["customer"])
    first = one.browse("customer").replace("--dump-dom", "")
    text = one.run(f"{first} & sleep 2; {one.browse('customer')}; echo second ended with $?", "customer")
    assert "second ended with 21" in text
