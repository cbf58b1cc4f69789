"""What the reader of Go tells of a file, and what it refuses to read."""

from __future__ import annotations

import pytest

from interlock.adapters.facts.go import read
from interlock.core.merge.facts import Call, FileFacts, Symbol

HEAD = 'package store\n\nimport (\n\t"os"\n\tf "example.com/x/fetch"\n\t"net/http"\n\t"example.com/x/go-cart/v2"\n)\n\n'


def facts_of(text: str, path: str = "pkg/store/a.go") -> FileFacts:
    found = read(path, (HEAD + text).encode())
    assert not found.fault, found.fault
    return found


def symbol(facts: FileFacts, path: str) -> Symbol:
    return next(each for each in facts.symbols if each.path == path)


def uses(facts: FileFacts) -> set[tuple[str, str, str]]:
    return {(each.name, each.source, each.of) for each in facts.uses}


@pytest.mark.parametrize(
    "text", ["package a\n\nfunc Load( {\n}\n\nfunc Other() {}\n", "package a\nfunc A() {\n\tif x {\n}\nfunc B() {}\n"]
)
def test_a_file_that_does_not_parse_says_so_and_tells_nothing(text: str) -> None:
    found = read("a/a.go", text.encode())
    assert "does not parse" in found.fault
    assert not found.symbols


def test_what_is_brought_along_tells_nothing() -> None:
    assert read("vendor/x/a.go", b"package a\n\nfunc A() {}\n") == FileFacts(language="go")


def test_depth_costs_no_stack() -> None:
    assert read("a/a.go", b"package a\nvar x = " + b"(" * 20_000 + b"1" + b")" * 20_000).fault
    assert read("a/b.go", b"package a\nfunc f() {\n" + b"{\n" * 4_000 + b"}\n" * 4_000 + b"}\n").fault == ""


def test_the_module_is_the_folder_and_tests_from_outside_are_another_one() -> None:
    assert facts_of("").module == "pkg/store"
    assert read("pkg/store/a_test.go", b"package store_test\n").module == "pkg/store_test"


def test_declarations() -> None:
    facts = facts_of(
        "type Port interface {\n\tio.Reader\n\tGet(id string, more ...int) (string, error)\n}\n"
        "type Mem struct {\n\tsync.Mutex\n\tItems, other []int\n}\n"
        "const (\n\tOpen State = iota\n\tHeld\n)\n"
        "var _ Port = (*Mem)(nil)\n"
        "func (m *Mem[T]) Get(id string, more ...int) (string, error) { return id, nil }\n"
        "func helper() *Mem { return nil }\nfunc init() {}\n"
    )
    assert symbol(facts, "Port.Get").abstract
    assert symbol(facts, "Port").bases == ("io.Reader",)
    assert symbol(facts, "Mem").bases == ("sync.Mutex", "Port")
    assert not symbol(facts, "Mem.other").public
    assert not symbol(facts, "helper").public
    assert {"Open", "Held", "Mem.Mutex"} <= {each.path for each in facts.symbols}
    assert "init" not in {each.name for each in facts.symbols}
    signature = symbol(facts, "Mem.Get").signature
    assert signature is not None
    assert (signature.required, signature.most, signature.result) == (1, None, "tuple[string, error]")


def test_an_interface_that_a_function_gives_back_is_a_base_too() -> None:
    facts = facts_of("type Mem struct{}\n\nfunc New() f.Store {\n\treturn &Mem{}\n}\n")
    assert symbol(facts, "Mem").bases == ("f.Store",)


def test_uses_by_package_type_and_field() -> None:
    facts = facts_of(
        "type Box struct {\n\tcart *f.Cart\n}\n"
        "func (b *Box) Run(p f.Part) {\n\tb.cart.Total()\n\tp.Name()\n\tx := f.New(1)\n\tx.Go()\n\ts := f.Thing{Size: 2}\n\ts.Show()\n"
        "\tcart.Open()\n\thelper()\n\tfor _, each := range b.parts() {\n\t\teach.Skip()\n\t}\n}\n"
    )
    source = "example.com/x/fetch"
    assert {
        ("Total", source, "Cart"),
        ("Name", source, "Part"),
        ("New", source, "f"),
        ("Go", source, "New()"),
        ("Size", source, "Thing"),
        ("Show", source, "Thing"),
        ("Open", "example.com/x/go-cart/v2", "cart"),
        ("helper", "", ""),
    } <= uses(facts)
    assert ("each", "", "") not in uses(facts)


def test_a_local_name_hides_a_package() -> None:
    facts = facts_of("func Run() {\n\tf := box{}\n\tf.Load(1)\n}\n")
    assert ("Load", "example.com/x/fetch", "f") not in uses(facts)
    assert ("Load", "", "box") in uses(facts)


def test_how_many_values_of_a_call_are_taken() -> None:
    facts = facts_of("func Run() {\n\ta := f.One()\n\tb, err := f.Two()\n\tf.None()\n\tuse(a, b, err)\n}\n")
    taken = {each.name: each.then for each in facts.uses if each.source == "example.com/x/fetch"}
    assert taken == {"One": ("unpack:1",), "Two": ("unpack:2",), "None": ()}


def test_what_is_spread_fills_the_last_parameter_and_what_a_call_gives_is_not_counted() -> None:
    facts = facts_of("func Run(all []int) {\n\tf.Sum(1, all...)\n\tf.Both(f.Pair())\n}\n")
    calls = {each.name: each.call for each in facts.uses if each.call}
    assert calls["Sum"] == Call(positional=1)
    assert calls["Both"] is not None
    assert calls["Both"].spread


def test_marks() -> None:
    facts = facts_of(
        'func Run(mux *http.ServeMux) {\n\tos.Getenv("HOME_A")\n\tmux.HandleFunc("/orders/{id}", h)\n\tr.Get("/x", h)\n'
        '\tflags.Bool("dry-run", false, "")\n\tcmd.Flags().StringP("name", "n", "", "")\n\thttp.Get(base + "/orders/3")\n'
        '\texec.Command("app", "--dry-run")\n\tdb.Query("SELECT total FROM orders WHERE id = $1", 1)\n\tsql.Register("mine", d)\n}\n'
    )
    told = {(each.kind, each.name, each.role, each.scope) for each in facts.marks}
    assert {
        ("env", "HOME_A", "uses", ""),
        ("route", "/orders/{}", "defines", ""),
        ("route", "GET /x", "defines", ""),
        ("route", "GET /orders/3", "uses", ""),
        ("flag", "--dry-run", "defines", ""),
        ("flag", "--name", "defines", ""),
        ("flag", "--dry-run", "uses", ""),
        ("column", "total", "uses", "orders"),
        ("registration", "mine", "defines", "sql.Register"),
    } <= told


def test_letters_of_several_bytes_stay_whole_wherever_they_stand() -> None:
    names = [f"Größe{'x' * count}" for count in range(200)]
    facts = facts_of("".join(f"func {name}() {{}}\n" for name in names))
    assert [each.name for each in facts.symbols] == names


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("module example.com/x/v2\n\ngo 1.22\n", "example.com/x/v2"),
        ('// Deprecated: no.\nmodule "example.com/x" // here\n', "example.com/x"),
        ("go 1.22\n", ""),
    ],
)
def test_a_manifest_names_the_module(text: str, module: str) -> None:
    found = read("sub/go.mod", text.encode())
    assert (found.language, found.module, found.fault) == ("other", module, "")
