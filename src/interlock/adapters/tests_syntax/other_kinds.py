"""How tests look in languages that are read by text alone: their names, what sets one aside, by what one can fail, what only looks as if it could."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_SAME: Final = r"([^,()\n]+(?:\([^()\n]*\))?)\s*,\s*"
_OFF: Final = r"\bif\s*\(?\s*false\b|\bfalse\s*&&"
_EARLY: Final = r"(?<=[;{}])\s*(?:if\s*\(\s*true\s*\)\s*)?return;\s*(?=[^\s}])"


@dataclass(frozen=True, slots=True)
class Kind:
    """One language: which files, the tests in them (the name in one of the groups), and patterns of what is in their bodies.

    ``aside`` is looked for in the whole text, the others in bodies without comments: ``hollow`` keeps what stands around it from failing,
    ``empty`` asserts and says nothing.  ``weak`` are statements that a person should look at when they change.
    """

    files: re.Pattern[str]
    tests: re.Pattern[str]
    aside: re.Pattern[str]
    fails: re.Pattern[str]
    hollow: re.Pattern[str]
    empty: re.Pattern[str]
    comment: re.Pattern[str]
    weak: re.Pattern[str]


_SLASHES: Final = re.compile(r"(?<![:\"'])//[^\n]*")
_HASH: Final = re.compile(r"(?<!\S)#[^\n]*")
_DOUBLES: Final = r"\b(?:when|doReturn|mock\w*|stub\w*|allow|spy|thenReturn|and_return|Setup|Returns)\b"

GO: Final = Kind(
    files=re.compile(r"(?:.*/)?[^/]*_test\.go"),
    tests=re.compile(r"^func\s+((?:Test|Fuzz|Example)\w*)\s*\(", re.MULTILINE),
    aside=re.compile(r"^//go:build[^\n]*|^// \+build[^\n]*|\bt\.Skip(?:f|Now)?\([^\n]*", re.MULTILINE),
    fails=re.compile(
        r"\b\w+\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:assert|require|is|qt|gomega)\.\w+\(|\bcmp\.\w+\(|\bExpect\(|\bpanic\("
        r"|[(,]\s*t\s*[,)]|\b\w*(?:[aA]ssert|[cC]heck|[vV]erify|[eE]xpect|[rR]equire|[mM]ust|[eE]qual|[rR]un|[tT]est)\w*\("
    ),
    hollow=re.compile(
        rf"{_OFF}|\bif\s+(\S[^\n{{]*?)\s*!=\s*\1\s*\{{|^\treturn[ \t]*\n(?=\s*[^\s}}])|\[\]struct\s*\{{[^{{}}]+\}}\{{\s*\}}"
        r"|\bdefer\s+func\(\)\s*\{\s*(?:_\s*=\s*)?recover\(\)\s*\}\(\)",
        re.MULTILINE,
    ),
    empty=re.compile(r"\b(?:assert|require)\.True\(t,\s*true\s*\)"),
    comment=_SLASHES,
    weak=re.compile(r"\bif\b|\brange\b|^\s*\{.*\},?$|\bassert\b|\brequire\b|\bwant\b|\bt\.(?:Error|Fatal)|\bcmp\."),
)
JVM: Final = Kind(
    files=re.compile(r"(?:.*/)?(?:[^/]*(?:Test|Tests|IT)|Test[^/]*)\.(?:java|kt)"),
    tests=re.compile(
        r"@(?:Test|ParameterizedTest|RepeatedTest)\b(?:[^(){};]|\([^()]*\))*?(?:void|fun)\s+(`[^`]+`|\w+)\s*\("
    ),
    aside=re.compile(
        r"@(?:Disabled|Ignore|Enabled(?:If|On|For)\w*|DisabledIf\w*)\b[^\n]*|\bAssum(?:e|ptions)\.\w+\([^\n]*"
        r"|\bassumeTrue\([^\n]*|\bassumeFalse\([^\n]*|throw new (?:\w+\.)*(?:TestAbortedException|SkipException)\b"
    ),
    fails=re.compile(
        r"\b\w*(?:assert|verify|expect|fail|should|check|require|andExpect|isEqualTo)\w*\s*[({]|\bthrow\b|\bassert\b|expected\s*=",
        re.IGNORECASE,
    ),
    hollow=re.compile(
        rf"{_OFF}|{_EARLY}|\bcatch\s*\(\s*(?:final\s+)?(?:\w+\s*:\s*)?(?:\w+\.)*(?:Throwable|AssertionError|AssertionFailedError|Error)\b[^)]*\)\s*\{{\s*\}}"
    ),
    empty=re.compile(
        rf"\bassertTrue\(\s*true\s*\)|\bassertFalse\(\s*false\s*\)|\bassert(?:Equals|Same)\(\s*{_SAME}\1\s*\)"
    ),
    comment=_SLASHES,
    weak=re.compile(rf"\b\w*[aA]ssert\w*|\bverify|\bexpect|{_DOUBLES}"),
)
RUBY: Final = Kind(
    files=re.compile(r"(?:.*/)?(?:[^/]*_(?:test|spec)|test_[^/]*)\.rb"),
    tests=re.compile(r"^\s*(?:def\s+(test_\w+)|(?:it|specify|test)\s+(['\"][^'\"\n]+['\"]))", re.MULTILINE),
    aside=re.compile(
        r"^\s*(?:skip|pending)\b[^\n]*|^\s*x(?:it|describe|context|specify)\b[^\n]*|\bskip:\s*(?!false)[^\n]*",
        re.MULTILINE,
    ),
    fails=re.compile(r"\b(?:assert|refute|expect|must_|wont_|should|flunk|raise|verify|check)\w*"),
    hollow=re.compile(
        r"\brescue\s+(?:RSpec::Expectations::\w+|Minitest::Assertion|Exception)\b(?![^\n]*\n\s*(?:raise|expect|assert|flunk))",
        re.MULTILINE,
    ),
    empty=re.compile(
        r"\bexpect\(\s*true\s*\)\.to\s+(?:be_truthy|be\(?\s*true|eq\(?\s*true)|\bassert\(?\s*true\b|\bassert_equal\(?\s*([^,()\n]+)\s*,\s*\1\s*\)?$",
        re.MULTILINE,
    ),
    comment=_HASH,
    weak=re.compile(rf"\bexpect\b|\bassert|\brefute|\bmust_|{_DOUBLES}"),
)
RUST: Final = Kind(
    files=re.compile(r".*\.rs"),
    tests=re.compile(
        r"#\[(?:[\w:]*\btest|rstest|test_case|quickcheck)\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?(?:async\s+)?fn\s+(\w+)"
    ),
    aside=re.compile(
        r"#\[ignore[^\]]*\]|#\[cfg_attr\((?!\s*(?:miri|windows|not\(unix|target_))[^\]]*\bignore\b[^\]]*\]|#\[should_panic\]"
        r"|#\[cfg\((?!\s*test\s*\)\]|\s*all\(\s*test\s*,\s*not\()[^\]]*\)\]\s*(?:pub\s+)?mod\s+\w*tests?\b"
    ),
    fails=re.compile(
        r"\b\w*assert\w*!?|\bpanic!|\bunreachable!|\.(?:unwrap|expect)\w*\(|\?[;)\n]|\b(?:insta|check|verify|should|matches|run|test)\w*[!(:]"
    ),
    hollow=re.compile(rf"{_OFF}|{_EARLY}|\blet\s+_\w*\s*=\s*(?:std::panic::)?catch_unwind"),
    empty=re.compile(rf"\bassert!\(\s*true\s*\)|\bassert_eq!\(\s*{_SAME}\1\s*,?\s*\)"),
    comment=_SLASHES,
    weak=re.compile(r"\bassert\w*!|\bprop_assert|\bmatches!"),
)
NET: Final = Kind(
    files=re.compile(r".*\.cs"),
    tests=re.compile(
        r"\[(?:Fact|Theory|Test|TestCase|TestMethod|DataTestMethod|TestCaseSource)\b[^\]]*\](?:\s*\[[^\]]*\])*"
        r"\s*(?:public\s+|private\s+|internal\s+)?(?:async\s+)?\w[\w<>.]*\s+(\w+)\s*\("
    ),
    aside=re.compile(
        r"\bSkip\s*=\s*\"[^\n]*|\[(?:Ignore|Explicit)\b[^\]]*\]|\bSkip\.If(?:Not)?\([^\n]*|\bAssert\.(?:Ignore|Inconclusive|Pass)\([^\n]*|^\s*#if\s+(?!!?\(?(?:NET|DEBUG|RELEASE|WINDOWS|LINUX|MONO|UNITY))[^\n]*",
        re.MULTILINE,
    ),
    fails=re.compile(r"\bAssert\.|\.Should\w*\(|\b\w*(?:Verify|Expect|Check|Assert)\w*\s*\(|\bthrow\b|\.Received\w*\("),
    hollow=re.compile(
        rf"{_OFF}|{_EARLY}"
        r"|\bcatch\s*(?:\(\s*(?:\w+\.)*(?:Exception|XunitException|AssertionException)\b[^)]*\))?\s*\{\s*\}"
    ),
    empty=re.compile(rf"\bAssert\.(?:True|IsTrue)\(\s*true\s*\)|\bAssert\.(?:Equal|AreEqual)\(\s*{_SAME}\1\s*\)"),
    comment=_SLASHES,
    weak=re.compile(rf"\bAssert\.|\.Should|{_DOUBLES}"),
)
BATS: Final = Kind(
    files=re.compile(r".*\.bats"),
    tests=re.compile(r"^@test\s+(['\"][^\n]+['\"])\s*\{", re.MULTILINE),
    aside=re.compile(r"^\s*skip\b[^\n]*", re.MULTILINE),
    fails=re.compile(
        r"^\s*(?!run\s+[^-]|echo\b|printf\b|true\b|:|skip\b|load\b|local\b|export\b|\w+=|\}|$)\S", re.MULTILINE
    ),
    hollow=re.compile(
        r"^\s*(?:\[\[?|test\b|assert\w*|refute\w*|diff\b|grep\b)[^\n]*\|\|\s*(?:true|:)\s*$", re.MULTILINE
    ),
    empty=re.compile(r"^\s*(?:true|:)\s*$", re.MULTILINE),
    comment=_HASH,
    weak=re.compile(r"^\s*(?:\[\[?|test\b|assert|refute|diff\b|grep\b|run\b)"),
)
KINDS: Final = (GO, JVM, RUBY, RUST, NET, BATS)
