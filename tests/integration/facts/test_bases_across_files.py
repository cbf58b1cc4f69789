"""Members along what a type comes from, in other files: told gone only where nothing on the way can have them."""

from __future__ import annotations

import pytest

from interlock.adapters.facts import FactReaders
from interlock.core.merge.facts import Symbol
from interlock.core.merge.meet.bases import lacks, result_type
from interlock.core.merge.meet.sides import Tree

READERS = FactReaders()
PORT = "export interface Port { get(id: string): string }\n"
SHOP = 'import { Port } from "./port";\nexport class Shop extends Base implements Port {\n  get(id: string) { return id; }\n}\n'
GO = 'package store\n\nimport "x.io/m/port"\n\ntype Mem struct{}\n\nvar _ port.Store = (*Mem)(nil)\n\nfunc New() *Mem { return &Mem{} }\n'


def asked(files: dict[str, str], path: str, name: str, owner: str, file: str) -> bool:
    tree = Tree(
        lambda where: READERS.read(where, str(hash(files[where])), files[where].encode()) if where in files else None
    )
    facts = tree(path)
    assert facts is not None
    uses = [each for each in facts.uses if each.name == name and each.of]
    assert uses
    return any(
        lacks(tree, path, facts, use, file, Symbol(name=name, kind="method", line=1, owner=owner)) for use in uses
    )


@pytest.mark.parametrize(
    ("base", "lost"),
    [
        ("class Base {}\n", True),
        ("class Base { total() { return 1; } }\n", False),
        ('import { Base } from "far-away";\n', False),
        ('import { Base } from "./base";\n', True),
    ],
)
def test_scripts(base: str, lost: bool) -> None:
    files = {
        "w/port.ts": PORT,
        "w/base.ts": "export class Base {}\n",
        "w/shop.ts": base + SHOP,
        "w/f.ts": 'import { Shop } from "./shop";\nnew Shop().total();\n',
    }
    assert asked(files, "w/f.ts", "total", "Shop", "w/shop.ts") is lost


def test_scripts_through_a_barrel_and_a_function() -> None:
    files = {
        "w/shop.ts": "export class Shop {}\nexport function make(): Shop | null { return new Shop(); }\n",
        "w/index.ts": 'export * from "./shop";\n',
        "w/f.ts": 'import { Shop } from ".";\nexport function f(shop: Shop) { shop.total(); }\n',
        "w/g.ts": 'import { make } from "./shop";\nexport const g = make()!.total();\n',
    }
    assert asked(files, "w/f.ts", "total", "Shop", "w/shop.ts")
    assert asked(files, "w/g.ts", "total", "Shop", "w/shop.ts")


@pytest.mark.parametrize(
    ("base", "lost"),
    [
        ("public class Job {}", True),
        ("public class Job { void save() {} }", False),
        ("public class Job extends Far {}", False),
    ],
)
def test_java_inherits(base: str, lost: bool) -> None:
    files = {
        "src/main/java/a/core/Job.java": f"package a.core;\n{base}\n",
        "src/main/java/a/f/Mail.java": "package a.f;\nimport a.core.Job;\npublic class Mail extends Job {\n  void go() { save(); }\n}\n",
    }
    assert asked(files, "src/main/java/a/f/Mail.java", "save", "Job", "src/main/java/a/core/Job.java") is lost


def test_an_interface_that_a_struct_satisfies_brings_it_nothing() -> None:
    use = 'package f\n\nimport "x.io/m/store"\n\nfunc F() int {\n\treturn store.New().Total()\n}\n'
    assert asked({"store/s.go": GO, "f/f.go": use}, "f/f.go", "Total", "Mem", "store/s.go")
    embedded = GO.replace("struct{}", "struct {\n\tport.Store\n}")
    assert not asked({"store/s.go": embedded, "f/f.go": use}, "f/f.go", "Total", "Mem", "store/s.go")


def test_a_type_of_the_same_name_elsewhere_is_another_one() -> None:
    use = 'package f\n\nimport "x.io/m/other"\n\nfunc F(m *other.Mem) int {\n\treturn m.Total()\n}\n'
    assert not asked({"store/s.go": GO, "f/f.go": use}, "f/f.go", "Total", "Mem", "store/s.go")


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        ("tuple[*Mem, error]", "Mem"),
        ("Promise<Shop | null>", "Shop"),
        ("List<Cart>", "List"),
        ("A | B", ""),
        ("None", "None"),
        ("tuple[[]Cart]", ""),
        ("", ""),
    ],
)
def test_the_type_that_a_function_gives_back(result: str, wanted: str) -> None:
    assert result_type(result) == wanted
