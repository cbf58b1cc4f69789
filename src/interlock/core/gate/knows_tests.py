"""Whether product code newly asks if it is being tested, so that it could behave otherwise for its judge; pure text, a language at a time."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from interlock.core.counting import some
from interlock.core.gate import judging_configs as configs
from interlock.core.gate.changes import Change
from interlock.core.gate.knows_python import Asked, python_asks
from interlock.core.gate.shadows import Both, Files, ReadMany
from interlock.core.gate.test_code import is_test_side
from interlock.core.job.evidence import CheckRun, Verdict

RUN: Final = "what is tested"
"""The name of this judgement among the checks."""
RULE: Final = "knows-tests"

_MOST: Final = 1000
_HABIT: Final = 2
"""In how many other files of the base a question has to stand for one more to be no news."""

_IN_SOURCE: Final = "import.meta.vitest"
_SCRIPT: Final = (
    (
        "NODE_ENV",
        re.compile(r"NODE_ENV\W{1,6}(?:[!=]==?)\s*['\"`]test['\"`]|['\"`]test['\"`]\s*[!=]==?\s*[\w.]*NODE_ENV\b"),
    ),
    (
        "a variable of the runner",
        re.compile(
            r"\b(?:JEST_WORKER_ID|VITEST(?:_WORKER_ID|_POOL_ID|_MODE)?|NODE_TEST_CONTEXT|PLAYWRIGHT_TEST|TEST_WORKER_INDEX)\b"
        ),
    ),
    (_IN_SOURCE, re.compile(r"\bimport\.meta\.vitest\b")),
    (
        "a test among its callers",
        re.compile(r"\.stack\b[^\n;]{0,60}['\"`/][^'\"`\n]*(?:\.?\b(?:test|spec)\b|jest|vitest|mocha)"),
    ),
    (
        "how the process was started",
        re.compile(
            r"process\.argv\b[^\n;]{0,80}['\"`/][^'\"`\n]*(?:jest|vitest|mocha|--test\b)|npm_lifecycle_event\W{1,6}(?:[!=]==?)\s*['\"`]test"
        ),
    ),
    (
        "names of the runner",
        re.compile(
            r"typeof\s+\(?(?:jest|vi|describe|it|expect|beforeEach|afterEach)\b"
            r"|(?:globalThis|global|window)(?:\.|\[['\"])(?:jest|describe|it|expect|beforeEach|afterEach|__vitest_worker__)\b"
        ),
    ),
)
_GO: Final = (
    ("testing.Testing", re.compile(r"\btesting\.Testing\(\)")),
    ("a flag of the tests", re.compile(r"\bflag\.Lookup\(\s*[\"`]test\.")),
    ("the name of the test program", re.compile(r"os\.(?:Args|Executable)[^\n]*[\"`][./_]*test\b")),
)
_JVM: Final = (
    (
        "JUnit on the stack",
        re.compile(r"[\"'](?:org\.junit|junit\.|org\.testng|io\.kotest|org\.spockframework)[\w.]*[\"']"),
    ),
    ("a property of the runner", re.compile(r"[\"']surefire\.\w+[\w.]*[\"']")),
    (
        "a test among its callers",
        re.compile(r"[gG]etStackTrace[^\n;]{0,120}(?:\n[^\n]*){0,2}?\"(?:\w*Tests?|test\w*)\""),
    ),
)
_RUBY: Final = (
    ("names of the runner", re.compile(r"defined\?\(?\s*(?:RSpec|Minitest|Test::Unit)\b")),
    ("Rails.env.test?", re.compile(r"Rails\.env\.test\?|ENV\[['\"](?:RAILS|RACK)_ENV['\"]\]\s*[!=]=\s*['\"]test['\"]")),
)
# Left out for tests is what another item stands in for then; a module of tests alone, and what only builds without std, is no question.
_RUST: Final = (
    ("cfg!(test)", re.compile(r"\bcfg!\(\s*(?:not\(\s*)?test\b")),
    (
        "cfg(not(test))",
        re.compile(
            r"#\[cfg\(\s*not\(\s*test\s*\)\s*\)\](?!\s*(?:use\b|extern\b|mod\b|fn main\b|#!?\[(?:panic_handler|global_allocator|alloc_error_handler|entry|no_mangle)))"
        ),
    ),
)
_NET: Final = (
    (
        "a runner that is loaded",
        re.compile(r"\"(?:xunit|nunit|Microsoft\.VisualStudio\.TestPlatform|testhost|MSTest)[\w.]*\""),
    ),
)
_KINDS: Final = (
    ((".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte"), _SCRIPT, r"//[^\n]*|/\*.*?\*/"),
    ((".go",), _GO, r"//[^\n]*|/\*.*?\*/"),
    ((".java", ".kt", ".kts", ".scala", ".groovy"), _JVM, r"//[^\n]*|/\*.*?\*/"),
    ((".rb",), _RUBY, r"#[^\n]*"),
    ((".rs",), _RUST, r"//[^\n]*|/\*.*?\*/"),
    ((".cs", ".fs", ".vb"), _NET, r"//[^\n]*|/\*.*?\*/"),
)
# Settings of build tools and of environments at the top: no product runs them.  A settings file of the product is free where the base has it.
_BUILD: Final = re.compile(
    r"(?:.*/)?(?:[\w.-]*\.config\.\w+|\.[\w-]+rc\.\w+|knexfile\.\w+|Gruntfile\.js|gulpfile\.\w+)|config/.*"
)
_SETTINGS: Final = re.compile(
    r"(?:.*/)?(?:(?:settings|config|conf|env|environment)\w*\.\w+|(?:settings|config)/.*)", re.IGNORECASE
)
_HELPER: Final = re.compile(r"(?:.*/)?_?(?:testing|test_?utils|testing_\w+|\w*pytest\w*|fixtures|\w*testcases?)\.py")
_FREE_TO_HELP: Final = frozenset({"skips", "installed", "judge"})
_PLUGIN: Final = re.compile(r"\bpytest11\b")
_OF_RUNNERS: Final = re.compile(r"(?:jest|vitest|mocha|@jest/.*|@vitest/.*|@playwright/test|cypress)")


def knows_tests(changes: Sequence[Change], both: Both, *, files: Files, read_many: ReadMany) -> tuple[str, ...]:
    """Where files of the product newly ask whether they are being tested, in words.

    Free are: a question that was in one of the changed files before, what asks it in two other files of the base at least, settings
    of build tools, settings of the product that the base has, and projects that are tools of a test runner themselves.
    """
    product = [each for each in changes if not is_test_side(each.path)]
    before, after = Counter[str](), list[tuple[str, Asked]]()
    for change in product:
        old, new = both(change.path)
        before.update(asked.key for asked in _asks(change.path, old))
        after += [(change.path, asked) for asked in _asks(change.path, new) if not _is_free(change.path, asked, old)]
    fresh = list(_fresh(before, after))
    if not fresh:
        return ()
    kept = [each for each in fresh if not _is_tool(each[0], both)]
    habits = (
        _habits({asked.key for _, asked in kept}, {each.path for each in changes}, files, read_many) if kept else ()
    )
    return tuple(
        dict.fromkeys(
            f"{path}:{asked.line}: it asks for {asked.what}" for path, asked in kept if asked.key not in habits
        )
    )


def judge_knowing(found: tuple[str, ...]) -> Verdict | None:
    """The verdict on what was found; None when nothing was.  Its tests are the places, for an acceptance."""
    if not found:
        return None
    what = (
        f"Code of the product newly asks whether it is being tested: {some(found, 3, '; ')}. "
        "What behaves otherwise for its tests is not shown by them."
    )
    run = CheckRun(run=RUN, exit_code=None, seconds=0.0, log="", tail="\n".join(found))
    return Verdict(run=run, state="refused", rule=RULE, what=what, tests=found)


def _fresh(before: Counter[str], after: Sequence[tuple[str, Asked]]) -> Iterator[tuple[str, Asked]]:
    """The questions of the head beyond those that the same files had: moving one, or wording it anew, is no new one."""
    left = Counter(before)
    for path, asked in after:
        left[asked.key] -= 1
        if left[asked.key] < 0:
            yield path, asked


def _asks(path: str, data: bytes | None) -> Iterator[Asked]:
    if data is None:
        return
    if path.endswith(".py"):
        yield from python_asks(data)
        return
    for suffixes, patterns, comments in _KINDS:
        if path.endswith(suffixes):
            text = _without(comments, data.decode("utf-8", "replace"))
            for what, pattern in patterns:
                if what == _IN_SOURCE and re.search(r"\}\s*=\s*import\.meta\.vitest", text):
                    continue  # tests that stand in the file itself
                for match in pattern.finditer(text):
                    yield Asked(key=what, what=what, line=text.count("\n", 0, match.start()) + 1)


def _without(comments: str, text: str) -> str:
    """The text with each comment as blanks; what stands in quotes stays."""
    quoted = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`"
    return re.sub(rf"({quoted})|{comments}", lambda m: m[1] or re.sub(r"[^\n]", " ", m[0]), text, flags=re.DOTALL)


def _is_free(path: str, asked: Asked, before: bytes | None) -> bool:
    """Whether a file may ask it: one that helps to write tests, a build tool's settings, or the product's own that the base has."""
    if asked.key in _FREE_TO_HELP and _HELPER.fullmatch(path):
        return True
    return bool(_BUILD.fullmatch(path)) or (before is not None and bool(_SETTINGS.fullmatch(path)))


def _is_tool(path: str, both: Both) -> bool:
    """Whether the base's project is there for a test runner: a plug-in, or a package that needs the runner when it runs."""
    if path.endswith(".py"):
        texts = [
            (both(name)[0] or b"").decode("utf-8", "replace") for name in ("pyproject.toml", "setup.cfg", "setup.py")
        ]
        try:
            needs = configs.toml(texts[0].encode()).get("project", {}).get("dependencies", [])
        except configs.Unreadable:
            needs = []
        return any(map(_PLUGIN.search, texts)) or any(re.match(r"pytest(?![\w-])", str(each)) for each in needs)
    if not path.endswith(_KINDS[0][0]):
        return False
    folder = posixpath.dirname(path)
    names = [posixpath.join(folder, "package.json"), "package.json"]
    return any(_needs_runner(both(name)[0]) for name in names)


def _needs_runner(data: bytes | None) -> bool:
    try:
        found = configs.json_of(data)
    except configs.Unreadable:
        return False
    needs = [*(found.get("dependencies") or {}), *(found.get("peerDependencies") or {})]
    return any(map(_OF_RUNNERS.fullmatch, map(str, needs)))


def _habits(keys: set[str], changed: set[str], files: Files, read_many: ReadMany) -> frozenset[str]:
    """Questions that the base's product asks in several other files already."""
    suffixes = (".py", *(suffix for kinds in _KINDS for suffix in kinds[0]))
    paths = [each for each in files() if each.endswith(suffixes) and each not in changed and not is_test_side(each)]
    found = Counter[str]()
    for path, data in zip(paths[:_MOST], read_many(paths[:_MOST]), strict=True):
        found.update({asked.key for asked in _asks(path, data)} & keys)
    return frozenset(key for key, number in found.items() if number >= _HABIT)
