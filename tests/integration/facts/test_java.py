"""What the reader of Java tells of a file, and what it refuses to read."""

from __future__ import annotations

import pytest

from interlock.adapters.facts.java import read
from interlock.core.merge.facts import FileFacts, Symbol

HEAD = "package com.acme.store;\nimport com.acme.core.Cart;\nimport static com.acme.core.Util.total;\nimport java.util.*;\n"


def facts_of(text: str) -> FileFacts:
    found = read("src/main/java/com/acme/store/Shop.java", (HEAD + text).encode())
    assert not found.fault, found.fault
    return found


def symbol(facts: FileFacts, path: str) -> Symbol:
    return next(each for each in facts.symbols if each.path == path)


def uses(facts: FileFacts) -> set[tuple[str, str, str]]:
    return {(each.name, each.source, each.of) for each in facts.uses}


@pytest.mark.parametrize(
    "text", ["class A { void a( { } void b() {} }", "class A { void a() { if (x) { } void b() {} "]
)
def test_a_file_that_does_not_parse_says_so_and_tells_nothing(text: str) -> None:
    found = read("A.java", text.encode())
    assert "does not parse" in found.fault
    assert not found.symbols


def test_depth_costs_no_stack() -> None:
    nested = "class A {\n" * 20_000 + "}\n" * 20_000
    assert not read("A.java", nested.encode()).fault
    assert read("A.java", b"class A { int x = " + b"(" * 20_000 + b"1" + b")" * 20_000 + b"; }").fault


def test_members_of_every_kind_of_type() -> None:
    facts = facts_of(
        "public abstract class Shop<T> extends Base implements Port, Other<String> {\n"
        "  public static final int MAX = 3; private Cart cart;\n"
        "  public Shop(int a) {} public Shop(int a, int b) {}\n"
        "  protected abstract int calc(int a, String... rest);\n  private void hidden() {}\n"
        "  enum State { OPEN, HELD { void z() {} } }\n"
        "  interface In { int a(); default int b() { return 1; } static int c() { return 0; } }\n"
        "  record Price(int cents, String unit) {}\n}\n"
    )
    assert facts.module == "com.acme.store"
    assert symbol(facts, "Shop").bases == ("Base", "Port", "Other")
    made = symbol(facts, "Shop").signature
    assert made is not None
    assert (made.required, made.most) == (1, 2)
    assert symbol(facts, "Shop.calc").abstract
    assert not symbol(facts, "Shop.hidden").public
    assert symbol(facts, "Shop.State.HELD").kind == "member"
    assert [symbol(facts, f"Shop.In.{name}").abstract for name in "abc"] == [True, False, False]
    price = symbol(facts, "Shop.Price").signature
    assert price is not None
    assert (price.required, price.most) == (2, 2)
    assert symbol(facts, "Shop.Price.unit").kind == "method"


def test_overloads_are_one_symbol_that_takes_what_any_of_them_takes() -> None:
    facts = facts_of(
        "class Shop { int add(int a) { return a; } int add(int a, int b) { return a; } int add(String a) { return 0; } }"
    )
    found = [each for each in facts.symbols if each.name == "add"]
    assert len(found) == 1
    assert found[0].signature is not None
    assert (found[0].signature.required, found[0].signature.most) == (1, 2)


def test_two_methods_with_the_same_types_stay_two() -> None:
    facts = facts_of("class Shop { int add(int a) { return a; } int add(int b) { return b; } }")
    assert sum(each.name == "add" for each in facts.symbols) == 2


def test_uses_by_import_type_and_field() -> None:
    facts = facts_of(
        "class Shop { private Cart cart; void run(Cart given, Object o) {\n"
        " cart.size(); this.cart.open(); given.total(1); var made = new Cart(1, 2); made.close(); Cart.of(3); total(4);\n"
        " for (Cart each : given.all()) { each.show(); } if (o instanceof Cart c) { c.cast(); } Runnable r = Cart::ping;\n"
        " com.acme.far.Tool.use(); helper(); } void helper() {} }"
    )
    core = "com.acme.core"
    assert {
        ("size", core, "Cart"),
        ("open", core, "Cart"),
        ("total", core, "Cart"),
        ("close", core, "Cart"),
        ("of", core, "Cart"),
        ("total", core, "Util"),
        ("show", core, "Cart"),
        ("cast", core, "Cart"),
        ("ping", core, "Cart"),
        ("Tool", "com.acme.far", ""),
        ("helper", "", "Shop"),
    } <= uses(facts)
    assert any(each.name == "Cart" and each.call and each.call.positional == 2 for each in facts.uses)


def test_local_names_hide_what_is_outside() -> None:
    facts = facts_of("class Shop { int run(int Cart) { int total = 1; return total + Cart; } }")
    assert not [each for each in facts.uses if each.line > 4]


def test_marks() -> None:
    facts = facts_of(
        '@RequestMapping("/api") class Shop {\n @GetMapping("/orders/{id}") Cart get() { return null; }\n'
        ' @PostMapping(value = {"/a", "/b"}) void put() {}\n @Option(names = {"-n", "--dry-run"}) boolean dry;\n'
        ' String q = "SELECT total FROM orders WHERE id = ?"; String e = System.getenv("APP_HOME");\n}\n'
    )
    told = {(each.kind, each.name, each.role, each.scope) for each in facts.marks}
    assert {
        ("route", "GET /api/orders/{}", "defines", ""),
        ("route", "POST /api/a", "defines", ""),
        ("route", "POST /api/b", "defines", ""),
        ("flag", "--dry-run", "defines", ""),
        ("env", "APP_HOME", "uses", ""),
        ("column", "total", "uses", "orders"),
    } <= told
