"""What the reader of scripts tells of a file, and what it refuses to read."""

from __future__ import annotations

import pytest

from interlock.adapters.facts.typescript import SUFFIXES, read
from interlock.core.merge.facts import Call, FileFacts, Symbol


def facts_of(text: str, path: str = "web/core.ts") -> FileFacts:
    found = read(path, text.encode())
    assert not found.fault, found.fault
    return found


def symbol(facts: FileFacts, path: str) -> Symbol:
    return next(each for each in facts.symbols if each.path == path)


def uses(facts: FileFacts) -> set[tuple[str, str, str]]:
    return {(each.name, each.source, each.of) for each in facts.uses}


def marks(facts: FileFacts) -> set[tuple[str, str, str, str]]:
    return {(each.kind, each.name, each.role, each.scope) for each in facts.marks}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("export function load( {\n}\nexport function other() {}\n", "line 1"),
        ("export function a() {\n  if (x) {\n}\nexport function lost() {}\n", "is not understood"),
        ("const a = 1;\0", "zero bytes"),
        (f"var a={'1+' * 4000}1;", "minified"),
        ("export const a = 1;\n" * 40_000, "more than"),
    ],
)
def test_a_file_that_cannot_be_read_says_so_and_tells_nothing(text: str, said: str) -> None:
    found = read("web/a.ts", text.encode())
    assert said in found.fault
    assert found.fault.endswith(".")
    assert not found.symbols
    assert not found.uses


def test_a_slip_inside_of_a_body_hides_no_definition() -> None:
    found = read("web/a.ts", b"export function a() {\n  let x = 1 @ 2;\n}\nexport function b() {}\n" + b"// pad\n" * 40)
    assert found.fault or {each.name for each in found.symbols} >= {"a", "b"}


@pytest.mark.parametrize("path", ["node_modules/x/a.js", "web/dist/a.js", "vendor/a.js", "web/a.min.js"])
def test_what_is_brought_along_or_built_tells_nothing(path: str) -> None:
    assert read(path, b"export const a = 1;") == FileFacts(language="javascript")


def test_depth_costs_no_stack() -> None:
    assert read("a.ts", b"const a = " + b"(" * 20_000 + b"1" + b")" * 20_000).fault
    deep = "\n".join(["function f() {"] * 3_000 + ["}"] * 3_000)
    assert not read("a.ts", deep.encode()).fault


def test_every_suffix_is_read() -> None:
    for suffix in SUFFIXES:
        assert symbol(facts_of("export const a = 1;\n", f"web/a{suffix}"), "a").public


def test_imports_of_every_form() -> None:
    facts = facts_of(
        'import d, { a as b, type T } from "./x";\nimport * as ns from "../y";\nimport type { Q } from "./q";\n'
        'import eq = require("z");\nconst { r1, k: r2 } = require("./r");\n'
    )
    assert {(each.module, each.name, each.local) for each in facts.imports} == {
        ("./x", "default", "d"),
        ("./x", "a", "b"),
        ("./x", "T", "T"),
        ("../y", "", "ns"),
        ("./q", "Q", "Q"),
        ("z", "", "eq"),
        ("./r", "r1", "r1"),
        ("./r", "k", "r2"),
    }


def test_what_is_exported_under_which_name() -> None:
    facts = facts_of(
        'function a() {}\nfunction b() {}\nexport { b as c };\nexport { x as y } from "./w";\nexport * from "./v";\n'
        "export default class Box {}\n"
    )
    assert {each.name for each in facts.symbols if each.public} == {"c", "y", "default"}
    assert facts.open


def test_commonjs_exports() -> None:
    facts = facts_of(
        "function a() {}\nfunction b() {}\nmodule.exports = { a, c: 1 };\nexports.d = () => 2;\n", "lib/a.js"
    )
    assert {each.name for each in facts.symbols if each.public} == {"a", "c", "d"}


def test_signatures_of_functions() -> None:
    facts = facts_of(
        "export function a(this: X, p: number, q?: string, r = 2, ...s: number[]): string {}\n"
        "export const b = async (x: number) => x;\n"
        "export function o(a: string): void;\nexport function o(a: string, b: number): void;\nexport function o(...all: any[]) {}\n"
    )
    a = symbol(facts, "a").signature
    assert a is not None
    assert (a.required, a.most, a.result) == (1, None, "string")
    b = symbol(facts, "b").signature
    assert b is not None
    assert b.result.startswith("Promise")


def test_an_untyped_parameter_that_the_body_asks_about_may_be_left_out() -> None:
    facts = facts_of("function a(p, q) { q = q || 1; }\nfunction b(p, q) { return p + q.x; }\n", "lib/a.js")
    a, b = symbol(facts, "a").signature, symbol(facts, "b").signature
    assert a is not None
    assert b is not None
    assert (a.required, a.most, b.required) == (1, None, 2)


def test_members_of_types() -> None:
    facts = facts_of(
        "export abstract class A<T> extends ns.B<T> implements I { static x = 1; #p = 2; private q = 3; abstract go(a: number): void;"
        " constructor(readonly cart: Cart, n?: number) { super(); this.late = 1; } get v() { return 1 } }\n"
        "export interface P { a: string; b?: number; m(): void }\nexport enum S { Open, Held = 'h' }\n"
        "export const Routes = { home: '/', user() {} } as const;\n"
    )
    assert symbol(facts, "A").bases == ("ns.B", "I")
    assert symbol(facts, "A").abstract
    made = symbol(facts, "A").signature
    assert made is not None
    assert (made.required, made.most) == (1, 2)
    assert symbol(facts, "A.go").abstract
    assert not symbol(facts, "A.q").public
    assert {"A.cart", "A.late", "A.v", "S.Held", "Routes.home"} <= {each.path for each in facts.symbols}
    assert (symbol(facts, "P.a").abstract, symbol(facts, "P.b").abstract) == (True, False)


def test_uses_and_what_shadows_them() -> None:
    facts = facts_of(
        'import { load, Cart } from "./core";\nimport * as ns from "./ns";\n'
        "export function f(cart: Cart) { cart.total(); ns.run(1, 2); const load = 1; return load; }\n"
        "export function g() { const c = new Cart(3); c.size(); return load('x').name; }\n"
    )
    told = uses(facts)
    assert {
        ("total", "./core", "Cart"),
        ("run", "./ns", ""),
        ("size", "./core", "Cart"),
        ("load", "./core", ""),
    } <= told
    calls = {(each.name, each.call.positional) for each in facts.uses if each.call and not each.call.spread}
    assert {("total", 0), ("run", 2), ("Cart", 1), ("load", 1)} <= calls
    assert any(each.name == "load" and each.then == ("attr:name",) for each in facts.uses)


def test_props_are_arguments_by_name() -> None:
    facts = facts_of(
        'import { Card } from "./card";\ntype Props = { label: string; icon?: string };\n'
        "export function Button({ label, icon }: Props) { return <Card title={label} key='x' {...icon}>a<b/></Card>; }\n",
        "web/a.tsx",
    )
    signature = symbol(facts, "Button").signature
    assert signature is not None
    assert (signature.names, signature.must) == (("label", "icon"), ("label",))
    assert any(
        each.name == "Card" and each.call == Call(names=("children", "title"), spread=True) for each in facts.uses
    )


def test_an_object_that_is_written_as_a_type_is_a_call_by_names() -> None:
    facts = facts_of('import type { S } from "./s";\nexport const s: S = { path: "x", mode };\n')
    assert any(each.name == "S" and each.call == Call(names=("mode", "path")) for each in facts.uses)


def test_marks() -> None:
    facts = facts_of(
        "export function orders() { return { id: 1, total: 2 }; }\nconst a = process.env.APP_A + import.meta.env.VITE_B;\n"
        'process.env["C"] = "1";\napp.get("/users/:id", handler);\nfetch(`${base}/users/3`);\n'
        'program.option("-n, --dry-run <x>");\nrun("--dry-run");\ncustomElements.define("x-y", Z);\n'
        '@Controller("cats") class Cats { @Get(":id") find() {} }\ndb.query(`SELECT total FROM orders WHERE id = ${id}`);\n'
    )
    assert {
        ("key", "total", "defines", "orders"),
        ("env", "APP_A", "uses", ""),
        ("env", "VITE_B", "uses", ""),
        ("env", "C", "defines", ""),
        ("route", "GET /users/{}", "defines", ""),
        ("route", "GET /users/3", "uses", ""),
        ("flag", "--dry-run", "defines", ""),
        ("flag", "--dry-run", "uses", ""),
        ("registration", "x-y", "defines", "customElements"),
        ("route", "GET /cats/{}", "defines", ""),
        ("column", "total", "uses", "orders"),
    } <= marks(facts)


def test_a_function_that_may_give_more_than_the_file_shows_has_no_keys() -> None:
    facts = facts_of("export function a(x) { if (x) { return other(); } return { k: 1 }; }\n", "a.js")
    assert not [each for each in facts.marks if each.kind == "key"]


def test_modules_that_are_brought_inside_of_a_function() -> None:
    facts = facts_of(
        'export async function f() {\n  const core = await import("./core");\n  core.load(1);\n  const { save } = require("./more");\n'
        "  save();\n}\n"
    )
    assert {("load", "./core", ""), ("save", "./more", "")} <= uses(facts)
