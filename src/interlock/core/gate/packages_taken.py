"""What a change takes from elsewhere, or to try tests again: lines of manifests that a person should see; versions that are asked for are the work's."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final

from interlock.core.gate.changes import Change
from interlock.core.gate.shadows import Both

_MANIFESTS: Final = re.compile(
    r"[\w-]*requirements[\w-]*\.(?:txt|in)|pyproject\.toml|setup\.(?:cfg|py)|Pipfile|package\.json|go\.(?:mod|work)|Cargo\.toml|Gemfile|\w+\.gemspec"
    r"|pom\.xml|[\w.-]*\.gradle(?:\.kts)?|[\w.-]*\.csproj|Directory\.\w+\.props|composer\.json"
)
_RETRIES: Final = re.compile(
    r"pytest-(?:rerunfailures|retry|flakefinder)\b|\bflaky\b|\b(?:rspec|minitest|mocha|jest|cucumber)-re(?:try|run)\w*|rerunner-jupiter|test-retry-gradle|xRetry"
)
_RUNNERS: Final = re.compile(
    r"[\s\"'<>:]*(?:pytest|hypothesis|coverage|jest|vitest|mocha|chai|expect|rspec|minitest|junit[\w-]*|xunit|nunit|testify)[\"'\s<>=~!^:@,]"
)
_ELSEWHERE: Final = re.compile(
    r"^\s*--?(?:extra-)?index-url|^\s*--find-links|^\s*-[if]\s|\s@\s|\bgit\+|\b(?:git|path|url)\s*[:=]\s*[\"'{]|[\"'](?:file|link|portal|npm|github|git|https?):"
    r"|^\s*replace\s|=>|\[patch\b|\[replace\b|tool\.uv\.(?:sources|index)|\"(?:overrides|resolutions)\"|<systemPath>|<HintPath>|^\s*use\s|files\(['\"]"
)
_VENDORED: Final = re.compile(
    r"(?:.*/)?(?:vendor|third_party|third-party|_vendor|vendored|node_modules|site-packages)/.*"
)


def packages_taken(changes: Sequence[Change], both: Both) -> Iterator[str]:
    """New lines of manifests by which other code is tested or tests are tried again, and vendored code that was edited, in words."""
    edited = [each.path for each in changes if each.status != "A" and _VENDORED.fullmatch(each.path)]
    if edited:
        yield f"{edited[0]}: code of others that the repository keeps is another one{f', and {len(edited) - 1} more' if edited[1:] else ''}."
    for change in changes:
        if (
            change.status == "D"
            or not _MANIFESTS.fullmatch(posixpath.basename(change.path))
            or _VENDORED.fullmatch(change.path)
        ):
            continue
        old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in both(change.path))
        for line in new:
            said = line.strip()
            if not said or line in old or said.rstrip(",") in {each.strip().rstrip(",") for each in old}:
                continue
            if _RETRIES.search(line):
                yield f"{change.path}: it takes in what runs failed tests again: {said[:80]}."
            elif _ELSEWHERE.search(line):
                yield f"{change.path}: it takes code from elsewhere: {said[:80]}."
            elif _RUNNERS.match(line) and any(_RUNNERS.match(each) for each in old):
                yield f"{change.path}: it takes another version of what tests: {said[:80]}."
