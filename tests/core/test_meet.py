"""Alarms from facts alone: each rule with a pair that breaks, and the nearest one that does not."""

from __future__ import annotations

import pytest

from interlock.core.merge.facts import Call, FileFacts, Import, Mark, Signature, Symbol, Use
from interlock.core.merge.meet.all_rules import FileChange, SideFacts, Tree, candidates, confirmed, findings, unread
from interlock.core.merge.meet.calls import misfit
from interlock.core.merge.meet.modules import absolute, means, names_file
from interlock.core.merge.meet.packages import satisfies
from interlock.core.merge.meet.results import arity, covers, unsuited

OLD = FileFacts(language="python", module="app.core", symbols=(Symbol(name="load", kind="function", line=3),))
NEW = FileFacts(language="python", module="app.core", symbols=(Symbol(name="read", kind="function", line=3),))
EMPTY = FileFacts(language="python", module="app.feat")
USER = FileFacts(
    language="python",
    module="app.feat",
    uses=(Use(name="load", line=1, source="app.core"),),
    imports=(Import(module="app.core", line=1, name="load", local="load"),),
)


def side(change: str, *files: tuple[str, FileFacts | None, FileFacts | None]) -> SideFacts:
    return SideFacts(change=change, files=tuple(FileChange(path=p, base=b, side=s) for p, b, s in files))


def tree(**files: FileFacts) -> Tree:
    known = {path.replace("__", "/") + ".py": facts for path, facts in files.items()}
    return Tree(known.get)


BREAKER = side("old", ("app/core.py", OLD, NEW))
CALLER = side("new", ("app/feat.py", EMPTY, USER))


def test_a_renamed_name_is_told_with_both_lines_and_what_to_do() -> None:
    (pair,) = findings(BREAKER, CALLER, tree(app__core=NEW, app__feat=USER))
    assert (pair.a, pair.b, pair.rule, pair.tier, pair.kind) == ("old", "new", "renamed-symbol", "facts", "semantic")
    assert [(place.change, place.path, place.line) for place in pair.places] == [
        ("old", "app/core.py", 3),
        ("new", "app/feat.py", 1),
    ]
    assert pair.why == "old renames load to read in app/core.py, and new newly uses it in app/feat.py, line 1."
    assert pair.action == "Use read in new, or keep load in old until nothing uses it."


def test_no_alarm_is_told_that_the_merged_tree_does_not_show() -> None:
    (alarm,) = candidates(BREAKER, CALLER)
    assert confirmed(alarm, "old", "new", tree(app__core=NEW, app__feat=USER)) is not None
    assert confirmed(alarm, "old", "new", tree(app__core=OLD, app__feat=USER)) is None
    assert confirmed(alarm, "old", "new", tree(app__core=NEW, app__feat=EMPTY)) is None
    assert confirmed(alarm, "old", "new", tree(app__core=NEW)) is None


@pytest.mark.parametrize(
    "kept",
    [
        FileFacts(language="python", symbols=NEW.symbols, fault="It does not parse."),
        FileFacts(language="python", symbols=NEW.symbols, open=True),
        FileFacts(language="python", symbols=NEW.symbols, imports=(Import(module="x", line=1, name="*"),)),
        FileFacts(
            language="python", symbols=NEW.symbols, imports=(Import(module="x", line=1, name="y", local="load"),)
        ),
    ],
    ids=["unread", "open", "star of a stranger", "imported again"],
)
def test_what_may_still_provide_the_name_is_no_break(kept: FileFacts) -> None:
    assert findings(BREAKER, CALLER, tree(app__core=kept, app__feat=USER)) == ()


def test_the_order_of_the_two_does_not_matter_for_what_is_found() -> None:
    (pair,) = findings(CALLER, BREAKER, tree(app__core=NEW, app__feat=USER))
    assert (pair.a, pair.b, pair.path) == ("new", "old", "app/feat.py")


def test_a_use_that_was_there_before_is_not_new() -> None:
    assert candidates(BREAKER, side("new", ("app/feat.py", USER, USER))) == ()


def test_a_use_that_the_breaker_has_too_is_the_breakers_own_matter() -> None:
    breaker = side("old", ("app/core.py", OLD, NEW), ("app/feat.py", EMPTY, USER))
    assert candidates(breaker, CALLER) == ()


def test_a_file_that_moved_is_followed_by_its_user() -> None:
    moved = side("old", ("app/core.py", OLD, None), ("app/engine.py", None, OLD))
    (pair,) = findings(moved, CALLER, tree(app__engine=OLD, app__feat=USER))
    assert pair.rule == "removed-module"
    assert "app/engine.py" in pair.action


def test_what_could_not_be_read_is_said() -> None:
    broken = FileFacts(language="python", fault="The file does not parse: line 3 is not understood.")
    assert unread(side("x", ("a.py", OLD, broken), ("b.py", OLD, NEW))) == (
        "a.py: The file does not parse: line 3 is not understood.",
    )


@pytest.mark.parametrize(
    ("call", "signature", "why"),
    [
        (Call(positional=1), Signature(required=2, most=2, names=("a", "b")), "now needs b"),
        (Call(positional=1, names=("b",)), Signature(required=2, most=2, names=("a", "b")), ""),
        (
            Call(positional=3),
            Signature(required=1, most=2, names=("a", "b")),
            "takes 2 arguments by position and is given 3",
        ),
        (Call(positional=3), Signature(required=1, most=None, names=("a",)), ""),
        (Call(names=("x",)), Signature(most=1, names=("a",)), "has no parameter x"),
        (Call(names=("x",)), Signature(any_name=True), ""),
        (Call(), Signature(must=("k",), names=("k",)), "now needs k"),
        (Call(positional=1, names=("a",)), Signature(required=1, most=1, names=("a",)), "is given a twice"),
        (Call(positional=0, names=("b",)), Signature(required=2, most=2, names=("b",), only=1), "now needs argument 1"),
        (Call(spread=True), Signature(required=2, most=2, names=("a", "b")), ""),
        (Call(positional=9), Signature(unsure=True), ""),
    ],
)
def test_a_call_fits_or_it_is_said_why_not(call: Call, signature: Signature, why: str) -> None:
    assert misfit(call, signature) == why


@pytest.mark.parametrize(
    ("importer", "module", "target", "may"),
    [
        ("app/feat.py", "app.core", "app/core.py", True),
        ("app/feat.py", "app.core", "src/app/core.py", True),
        ("app/feat.py", "core", "app/score.py", False),
        ("app/feat.py", ".core", "app/core.py", True),
        ("app/sub/feat.py", "..core", "app/core.py", True),
        ("app/feat.py", ".core", "lib/app/core.py", False),
        ("app/feat.py", "app", "app/__init__.py", True),
        ("app/feat.py", "json", "app/core.py", False),
    ],
)
def test_a_python_module_names_a_file(importer: str, module: str, target: str, may: bool) -> None:
    assert names_file(importer, EMPTY, module, target, EMPTY) is may


def test_a_relative_module_is_told_from_the_top() -> None:
    assert absolute("a/b/c.py", "..d") == "a.d"
    assert absolute("a/b/c.py", ".") == "a.b"
    assert absolute("a/b/c.py", "x.y") == "x.y"


@pytest.mark.parametrize(
    ("importer", "module", "target", "may"),
    [
        ("web/feat.ts", "./core", "web/core.ts", True),
        ("web/feat.ts", "../core", "core/index.ts", True),
        ("web/feat.ts", "./core.js", "web/core.ts", True),
        ("web/feat.ts", "@/lib/core", "src/lib/core.ts", True),
        ("web/feat.ts", "core", "web/core.ts", False),
        ("web/feat.ts", "@scope/core", "web/core.ts", False),
    ],
)
def test_a_script_module_names_a_file(importer: str, module: str, target: str, may: bool) -> None:
    script = FileFacts(language="typescript")
    assert names_file(importer, script, module, target, FileFacts(language="javascript")) is may


@pytest.mark.parametrize(
    ("module", "target", "meant"),
    [
        ("example.com/router/v2", "mux.go", True),
        ("example.com/router/v2/store", "store/store.go", True),
        ("example.com/router", "mux.go", False),
        ("example.com/other/store", "store/store.go", False),
        ("net/http", "mux.go", False),
        ("example.com/plugins/plug", "plugins/plug/plug.go", True),
        ("example.com/router/v2/plugins/plug", "plugins/plug/plug.go", False),
    ],
)
def test_an_import_of_go_means_the_package_that_the_manifest_calls_so(module: str, target: str, *, meant: bool) -> None:
    go = FileFacts(language="go")
    named = {
        "go.mod": FileFacts(language="other", module="example.com/router/v2"),
        "plugins/plug/go.mod": FileFacts(language="other", module="example.com/plugins/plug"),
    }
    assert means(Tree(named.get), "docs/print.go", go, module, target, go) is meant


@pytest.mark.parametrize(
    ("module", "target", "meant"),
    [("example.com/x/store", "store/store.go", True), ("store", "store/store.go", True), ("x.com/y", "mux.go", False)],
)
def test_without_a_manifest_an_import_of_go_means_a_folder_by_its_end(module: str, target: str, *, meant: bool) -> None:
    go = FileFacts(language="go")
    assert means(Tree(lambda _: None), "docs/print.go", go, module, target, go) is meant


@pytest.mark.parametrize(
    ("old", "new", "then", "breaks"),
    [
        ("int", "tuple[int, str]", "arith", True),
        ("int", "float", "arith", False),
        ("int", "Coroutine[int]", "arith", True),
        ("AbstractContextManager[Session]", "AbstractAsyncContextManager[Session]", "with", True),
        ("AbstractAsyncContextManager[Session]", "AbstractContextManager[Session]", "async with", True),
        ("AbstractContextManager[Session]", "Session", "with", False),
        ("Session", "AbstractContextManager[Session]", "attr:total", True),
        ("Session", "AbstractContextManager[Session]", "attr:__exit__", False),
        ("AbstractContextManager[Session]", "dict[str, int]", "with", True),
        ("Coroutine[int]", "int", "await", True),
        ("tuple[_, _, _]", "tuple[_, _]", "unpack:3", True),
        ("tuple[int, int]", "tuple[int, ...]", "unpack:2", False),
        ("dict[str, int]", "list[int]", "key:total", True),
        ("dict[str, int]", "Mapping[str, int]", "key:total", False),
        ("Order", "Receipt", "attr:total", False),
        ("str", "None", "attr:strip", True),
        ("str", "str | None", "attr:strip", False),
    ],
)
def test_what_is_done_with_a_value_suits_its_type(old: str, new: str, then: str, breaks: bool) -> None:
    assert bool(unsuited(old, new, (then,))) is breaks


def test_tuples_and_exceptions_are_known_by_name() -> None:
    assert arity("tuple[int, dict[str, int]]") == 2
    assert arity("tuple[int, ...]") is None
    assert covers(("LookupError",), "KeyError")
    assert not covers(("KeyError",), "LookupError")
    assert covers(("Exception",), "OwnFault")


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        ("2.0.0", "^1.2.0", False),
        ("1.9.0", "^1.2.0", True),
        ("0.3.0", "^0.2.1", False),
        ("1.2.9", "~1.2.0", True),
        ("1.3.0", "~1.2.0", False),
        ("3.1", ">=2,<4", True),
        ("4.0", ">=2,<4", False),
        ("1.4.5", "~=1.4.2", True),
        ("1.5.0", "~=1.4.2", False),
        ("5.0.0", "^4 || ^5", True),
        ("1.0.0", "workspace:*", None),
        ("1.0.0", "git+https://x/y", None),
        ("1.0.0", "*", True),
        ("1.7.0", "1.x", True),
        ("2.7.0", "1.2.3 - 2.5.0", False),
    ],
)
def test_a_version_is_in_a_range(version: str, wanted: str, fits: bool | None) -> None:
    assert satisfies(version, wanted) is fits


def marked(*marks: Mark, language: str = "python") -> FileFacts:
    return FileFacts(language="data" if language == "data" else "python", marks=marks)


def env(name: str, role: str, detail: str = "") -> Mark:
    return Mark(kind="env", name=name, line=1, role="defines" if role == "defines" else "uses", detail=detail)


def test_a_variable_that_nothing_sets_any_more() -> None:
    breaker = side("a", ("conf.py", marked(env("OLD", "defines")), marked(env("NEW", "defines"))))
    user = side("b", ("feat.py", EMPTY, marked(env("OLD", "uses"))))
    after = {"conf.py": marked(env("NEW", "defines")), "feat.py": marked(env("OLD", "uses"))}
    (pair,) = findings(breaker, user, Tree(after.get))
    assert (pair.rule, pair.symbol) == ("removed-env", "OLD")
    assert "Use NEW in b" in pair.action
    elsewhere = side("b", ("feat.py", EMPTY, marked(env("OLD", "uses"), env("OLD", "defines"))))
    both = {**after, "feat.py": marked(env("OLD", "uses"), env("OLD", "defines"))}
    assert findings(breaker, elsewhere, Tree(both.get)) == ()
    bearing = side("b", ("feat.py", EMPTY, marked(env("OLD", "uses", "default"))))
    assert candidates(breaker, bearing) == ()


def revision(name: str, parents: str, scope: str = "shop/migrations") -> FileFacts:
    return marked(Mark(kind="revision", name=name, line=1, role="defines", scope=scope, detail=parents))


def test_two_heads_and_a_merge_of_them() -> None:
    a, b = revision("0007_price", "0006_base"), revision("0007_stock", "0006_base")
    one = side("a", ("m/7a.py", None, a))
    other = side("b", ("m/7b.py", None, b))
    (pair,) = findings(one, other, Tree({"m/7a.py": a, "m/7b.py": b}.get))
    assert pair.rule == "migration-heads"
    stacked = revision("0007_stock", "0007_price")
    assert findings(one, side("b", ("m/7b.py", None, stacked)), Tree({"m/7a.py": a, "m/7b.py": stacked}.get)) == ()
    merged = revision("0008_merge", "0007_price,0007_stock")
    whole = Tree({"m/7a.py": a, "m/7b.py": b, "m/8.py": merged}.get)
    assert findings(one, side("b", ("m/7b.py", None, b), ("m/8.py", None, merged)), whole) == ()
    apart = revision("0007_role", "0006_base", "user/migrations")
    assert findings(one, side("b", ("u/7.py", None, apart)), Tree({"m/7a.py": a, "u/7.py": apart}.get)) == ()


def test_a_migration_that_stands_on_one_that_is_gone() -> None:
    old, new = revision("0006_base", ""), revision("0007_stock", "0006_base")
    breaker = side("a", ("m/6.py", old, None))
    (pair,) = findings(breaker, side("b", ("m/7.py", None, new)), Tree({"m/7.py": new}.get))
    assert pair.rule == "migration-parent"


def test_both_add_the_same_definition_unless_it_is_the_same_text() -> None:
    def defined(digest: str, times: int = 1) -> FileFacts:
        each = Symbol(name="norm", kind="function", line=1, digest=digest)
        return FileFacts(language="python", symbols=(each,) * times)

    a, b = side("a", ("big.py", EMPTY, defined("1"))), side("b", ("big.py", EMPTY, defined("2")))
    (pair,) = findings(a, b, Tree({"big.py": defined("1", 2)}.get))
    assert pair.rule == "duplicate-definition"
    assert findings(a, b, Tree({"big.py": defined("1")}.get)) == ()
    same = side("b", ("big.py", EMPTY, defined("1")))
    assert findings(a, same, Tree({"big.py": defined("1", 2)}.get)) == ()


@pytest.mark.parametrize(("package", "module", "breaks"), [("pyyaml", "yaml", True), ("argparse", "argparse", False)])
def test_a_dependency_taken_out_is_missed_unless_the_language_brings_it(
    package: str, module: str, breaks: bool
) -> None:
    wanted = marked(Mark(kind="package", name=package, line=1, role="defines", scope="wanted"), language="data")
    nothing = marked(language="data")
    feat = FileFacts(language="python", imports=(Import(module=module, line=1, local=module),))
    breaker = side("a", ("requirements.txt", wanted, nothing))
    user = side("b", ("feat.py", EMPTY, feat))
    after = Tree({"requirements.txt": nothing, "feat.py": feat}.get)
    assert [pair.rule for pair in findings(breaker, user, after)] == (["removed-package"] if breaks else [])
