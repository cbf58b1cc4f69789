"""Questions of product code that have other uses than to know its judge, so that a person looks: CI, folders of tests, parts of the interpreter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from interlock.core.gate.changes import Change
from interlock.core.gate.shadows import Both
from interlock.core.gate.test_code import is_test_side

_CI: Final = r"(?:CI|CONTINUOUS_INTEGRATION|GITHUB_ACTIONS|GITLAB_CI|BUILDKITE|CIRCLECI|TRAVIS|TF_BUILD|JENKINS_URL|TESTING|TEST_MODE|IS_TEST)"
_CODE: Final = re.compile(r".*\.(?:py|[cm]?[jt]sx?|go|rs|java|kt|rb|cs|php|vue|svelte)")
_ASKS: Final = (
    (
        "whether it runs in CI or for a test",
        re.compile(
            rf"(?:environ|getenv|[gG]etenv|ENV|env::var|GetEnvironmentVariable|LookupEnv)\W[^\n]{{0,20}}?['\"`]{_CI}['\"`]|\b(?:process|import\.meta)\.env(?:\.|\[['\"]){_CI}\b"
        ),
    ),
    (
        "a folder of tests",
        re.compile(
            r"(?:Path|exists|is_?dir|is_?file|isdir|isfile|existsSync|Stat|listdir|File)\(\s*['\"`][^'\"`\n]*\b(?:tests?|specs?|__tests__)['\"`/]"
        ),
    ),
    ("its process by /proc", re.compile(r"/proc/(?:self|\$\{?\w+\}?)/(?:cmdline|environ|status)")),
)
_TAKES: Final = (
    (
        "a function of the language itself",
        re.compile(
            r"^\s*(?:builtins\.\w+|sys\.(?:exit|settrace|setprofile|excepthook)|os\._exit)\s*=[^=]", re.MULTILINE
        ),
    ),
    (
        "how modules are found",
        re.compile(r"\bsys\.(?:meta_path|path_hooks)\b\.?\s*(?:insert|append|=)|sys\.modules\[[^\]]+\]\s*=[^=]"),
    ),
    (
        "how the process ends",
        re.compile(
            r"process\.on\(\s*['\"`](?:exit|beforeExit|uncaughtException)['\"`]|process\.exit\s*=[^=]|\bos\._exit\(|\bfunc init\(\)[^}]*os\.Exit|\bRuntime\.getRuntime\(\)\.halt|\bat_exit\b|\bexit!"
        ),
    ),
    ("names of the test runner", re.compile(r"\b(?:globalThis|global|window)\.(?:expect|it|test|describe)\s*=[^=]")),
)


def soft_questions(changes: Sequence[Change], both: Both) -> Iterator[str]:
    """Where product code newly asks such a thing, or takes it into its own hands, in words."""
    for change in changes:
        if is_test_side(change.path) or change.status == "D" or not _CODE.fullmatch(change.path):
            continue
        old, new = ((data or b"").decode("utf-8", "replace") for data in both(change.path))
        for verb, patterns in (("asks for", _ASKS), ("changes", _TAKES)):
            for what, pattern in patterns:
                match = pattern.search(new)
                if match and len(pattern.findall(new)) > len(pattern.findall(old)):
                    yield f"{change.path}:{new.count(chr(10), 0, match.start()) + 1}: it newly {verb} {what}."
