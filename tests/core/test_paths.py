"""The one dialect of path patterns, against an oracle that shares no code with it and all short paths."""

from __future__ import annotations

import itertools
import random
import re
import time
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.core.contract import path_search
from interlock.core.contract.paths import PatternError, decider, explain, inside, intersect, literal, parse

NAMES = [
    "".join(chars) for length in (1, 2) for chars in itertools.product("ab.", repeat=length) if set(chars) != {"."}
]
PATHS = ["/".join(names) for length in (1, 2, 3) for names in itertools.product(NAMES, repeat=length)]

# One atom of a segment: how it is written, and the same as a regular expression.
ATOMS = {
    "a": "a",
    "b": "b",
    ".": r"\.",
    "*": "[^/]*",
    "?": "[^/]",
    "[ab]": "[ab]",
    "[!a]": "[^a/]",
    "[^b]": "[^b/]",
    "[a-b]": "[a-b]",
    "[.a]": "[.a]",
}


@dataclass(frozen=True)
class Made:
    """A pattern made of atoms: its text, and the regular expression of the paths that it has to match."""

    text: str
    regex: re.Pattern[str]

    def fits(self, path: str) -> bool:
        return self.regex.fullmatch(path) is not None


def segment_regex(atoms: tuple[str, ...]) -> tuple[str, bool]:
    """The expression of a segment and whether it is only one name."""
    if len(atoms) == 1 and atoms[0].startswith("["):
        return re.escape(atoms[0]), True
    expression = "".join(ATOMS[atom] for atom in atoms)
    if all(atom in "ab." for atom in atoms):
        return expression, True
    return f"(?=[^/]){expression}", False


def make(segments: list[tuple[str, ...]], end: str) -> Made:
    """A pattern of these segments (``()`` is ``**``), ending as it stands or with ``/``."""
    text = "/".join("".join(atoms) or "**" for atoms in segments) + end
    expression = ""
    for atoms in segments[:-1]:
        expression += "(?:[^/]+/)*" if not atoms else segment_regex(atoms)[0] + "/"
    last = segments[-1]
    if not last:
        expression += "[^/]+(?:/[^/]+)*"
    else:
        inner, only = segment_regex(last)
        expression += inner + ("(?:/[^/]+)+" if end else "(?:/[^/]+)*" if only else "")
    return Made(text, re.compile(expression, re.DOTALL))


def usable(atoms: tuple[str, ...]) -> bool:
    return "".join(atoms) not in (".", "..") and "**" not in "".join(atoms)


segments = st.one_of(
    st.just(()), st.lists(st.sampled_from(sorted(ATOMS)), min_size=1, max_size=3).map(tuple).filter(usable)
)
made = st.builds(make, st.lists(segments, min_size=1, max_size=4), st.sampled_from(["", "", "/"]))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(made)
def test_a_pattern_matches_exactly_what_it_should(pattern: Made) -> None:
    parsed = parse(pattern.text)
    wrong = [path for path in PATHS if parsed.matches(path) != pattern.fits(path)]
    assert wrong == []
    assert parsed.select(PATHS) == [path for path in PATHS if pattern.fits(path)]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(made, made)
def test_two_patterns_meet_exactly_when_a_path_of_both_exists(one: Made, other: Made) -> None:
    path = intersect(parse(one.text), parse(other.text))
    if path is None:
        assert not [each for each in PATHS if one.fits(each) and other.fits(each)]
    else:
        assert one.fits(path)
        assert other.fits(path)
    assert (path is None) == (intersect(parse(other.text), parse(one.text)) is None)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(made, made, made)
def test_exclusions_are_left_out_exactly(one: Made, other: Made, shut: Made) -> None:
    path = intersect(parse(one.text), parse(other.text), outside=[parse(shut.text)])
    if path is None:
        assert not [each for each in PATHS if one.fits(each) and other.fits(each) and not shut.fits(each)]
    else:
        assert one.fits(path)
        assert other.fits(path)
        assert not shut.fits(path)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(made, made)
def test_a_pattern_is_inside_another_exactly_when_no_path_of_it_is_outside(one: Made, other: Made) -> None:
    if inside(parse(one.text), parse(other.text)):
        assert not [path for path in PATHS if one.fits(path) and not other.fits(path)]
        return
    names = path_search.find((parse(one.text).items,), (parse(other.text).items,))
    assert names is not None
    path = "/".join(names)
    assert one.fits(path)
    assert not other.fits(path)


def random_patterns(count: int, seed: int) -> list[Made]:
    dice = random.Random(seed)
    atoms = sorted(ATOMS)
    found: list[Made] = []
    while len(found) < count:
        parts = [
            () if dice.random() < 0.2 else tuple(dice.choices(atoms, k=dice.randint(1, 3)))
            for _ in range(dice.randint(1, 3))
        ]
        if all(usable(part) for part in parts):
            found.append(make(parts, dice.choice(["", "", "", "/"])))
    return found


def test_four_thousand_random_pairs_against_brute_force() -> None:
    patterns = random_patterns(90, seed=7)
    matched = [frozenset(path for path in PATHS if pattern.fits(path)) for pattern in patterns]
    pairs = list(itertools.combinations(range(len(patterns)), 2))
    assert len(pairs) > 4000
    for one, other in pairs:
        path = intersect(parse(patterns[one].text), parse(patterns[other].text))
        if path is None:
            assert not matched[one] & matched[other], (patterns[one].text, patterns[other].text)
        else:
            fit = (patterns[one].fits(path), patterns[other].fits(path))
            assert fit == (True, True), (patterns[one].text, patterns[other].text, path)


def test_twenty_thousand_pairs_take_about_a_second() -> None:
    dice = random.Random(3)
    parts = ["src", "tests", "billing", "*", "?a", "**", "test_*.py", "*.py", "v[0-9].txt", "retry"]
    patterns = [parse("/".join(dice.choices(parts, k=dice.randint(1, 5)))) for _ in range(300)]
    pairs = [(dice.choice(patterns), dice.choice(patterns)) for _ in range(20_000)]
    begin = time.process_time()
    met = sum(intersect(one, other) is not None for one, other in pairs)
    assert time.process_time() - begin < 5
    assert 0 < met < len(pairs)


def test_hostile_patterns_end_quickly() -> None:
    stars = "*a" * 60
    begin = time.process_time()
    assert not parse(stars + "b").matches("a" * 250)
    assert intersect(parse(stars + "*"), parse("*b" * 60 + "*")) is not None
    assert not inside(parse("*" + "?a" * 20), parse("*a" + "?" * 30))
    assert not inside(parse("/".join(["**", "a"] * 12)), parse("/".join(["**", "*a*"] * 12 + ["b"])))
    assert time.process_time() - begin < 20


# ---------------------------------------------------------------- the dialect, by example
@pytest.mark.parametrize(
    ("one", "other", "path"),
    [
        ("src/billing/retry/**", "src/**/test_*.py", "src/billing/retry/test_.py"),
        ("src/**", "src/billing/**", "src/billing/x"),
        ("src/foo", "src/foo/bar.py", "src/foo/bar.py"),
        ("**/*.py", "src/**", "src/x.py"),
        ("a/[id]/**", "a/i/**", None),
        ("src/foo/**", "src/foobar/**", None),
        ("src/foo/**", "src/foo", "src/foo/x"),
        ("docs/*", "docs/x/b.md", None),
        (".*", "?", None),
        ("v[0-9]", "v[5-7]", "v5"),
        ("v[!0-9]", "v[0-9]", None),
        ("A/**", "a/**", None),
    ],
)
def test_where_patterns_meet(one: str, other: str, path: str | None) -> None:
    assert intersect(parse(one), parse(other)) == path


def test_what_is_inside_what() -> None:
    assert inside(parse("migrations/0007_*.sql"), parse("**/migrations/**"))
    assert inside(parse("src/a"), parse("src/**"))
    assert inside(parse("**/x.lock"), parse("**"))
    assert not inside(parse("src/**"), parse("src/a/**"))
    assert not inside(parse("src/*"), parse("src/*.py"))
    assert inside(parse("src/?"), parse("src/*"))


def test_a_class_can_be_covered_by_two_patterns_of_one() -> None:
    """Exactness needs the combination of segments, not each alone."""
    assert not inside(parse("x/[ab]c"), parse("x/ac"))
    assert intersect(parse("x/[ab]c"), parse("**"), outside=[parse("x/ac"), parse("x/bc")]) is None
    assert intersect(parse("x/[abd]c"), parse("**"), outside=[parse("x/ac"), parse("x/bc")]) == "x/dc"


def test_a_folder_is_covered_when_everything_below_is() -> None:
    assert parse("src/**").covers("src")
    assert parse("src/**").covers("src/[odd]")
    assert not parse("src/*").covers("src")
    assert not parse("src/a/**").covers("src")


def test_the_literal_pattern_of_a_path_with_wildcards_in_its_name() -> None:
    pattern = literal("odd/*[x]")
    assert pattern.matches("odd/*[x]")
    assert pattern.matches("odd/*[x]/below")
    assert not pattern.matches("odd/ax")


@pytest.mark.parametrize("text", ["a**", "**b", "a**b", "***", "x/**.py/y", "{a,b}/**", "{1..3}", "x[[:digit:]]y"])
def test_what_is_not_in_the_dialect_is_refused_with_a_way_to_write_it(text: str) -> None:
    with pytest.raises(PatternError) as refused:
        parse(text)
    assert refused.value.fix.startswith("Write")
    if refused.value.better is not None:
        parse(refused.value.better)


def test_a_path_too_long_is_refused() -> None:
    with pytest.raises(PatternError, match="characters"):
        parse("a" * 1025)


def test_braces_that_are_no_choice_are_a_name() -> None:
    assert parse("{{cookiecutter.slug}}/**").matches("{{cookiecutter.slug}}/setup.py")


def test_the_pattern_that_decides_is_told() -> None:
    patterns = [parse("docs/*"), parse("src/**"), parse("pages/[id].vue")]
    found = explain(patterns, "src/a/b.py")
    assert (found.pattern, found.why) == ("src/**", "src/** names everything below src.")
    assert decider(patterns, "docs/x/b.md") is None
    assert explain(patterns, "docs/x/b.md").why == "No pattern matches."
    assert "write pages/[[]id].vue" in explain(patterns, "pages/[id].vue").why


def test_meanings_in_words() -> None:
    assert parse("**").meaning == "every file"
    assert parse("src/").meaning == parse("src/**").meaning == "everything below src"
    assert parse("src/foo").meaning == "src/foo, and everything below it where it is a folder"
    assert "do not cross /" in parse("docs/*").meaning


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.one_of(st.text(max_size=20), st.text(alphabet="ab*?[]!-/.{},\\~^", max_size=14)))
def test_any_text_is_a_pattern_that_names_something_or_is_refused(text: str) -> None:
    refused = None
    try:
        pattern = parse(text)
    except PatternError as error:
        refused = error
    if refused is not None:
        assert (refused.what[-1], refused.fix[-1]) == (".", ".")
        assert refused.better != text
        return
    path = intersect(pattern, pattern)
    assert path is not None
    assert pattern.matches(path)
    assert inside(pattern, pattern)
    assert not {"", ".", ".."} & set(path.split("/"))


def test_a_range_across_the_separator_leaves_it_out() -> None:
    assert not parse("a[.-0]b").matches("a/b")
    assert parse("a[.-0]b").matches("a.b")
    assert intersect(parse("a[.-0]b"), parse("**"), outside=[parse("a.b"), parse("a0b")]) is None


def test_a_set_that_spells_a_folder_no_one_can_have_is_refused() -> None:
    for text in (".[.]", "a/[.].", "x/[.][.]/y"):
        with pytest.raises(PatternError, match="nothing else"):
            parse(text)
