"""What data, scripts and migrations name: packages, routes, fields, keys, variables, flags, numbers and parents."""

from __future__ import annotations

import pytest

from interlock.adapters.facts import FactReaders
from interlock.adapters.facts.migrations import migration_marks


def marks(path: str, text: str) -> set[tuple[str, str, str, str, str]]:
    facts = FactReaders().read(path, "1" * 40, text.encode())
    assert not facts.fault, facts.fault
    return {(each.kind, each.name, each.role, each.scope, each.detail) for each in facts.marks}


NPM = '{"packages": {"node_modules/a": {"version": "2.0.0"}, "node_modules/z": {"version": "1.5.0", "peerDependencies": {"a": "^1.2.0"}}}}'
YARN = 'a@^1.0.0:\n  version "1.2.0"\n  dependencies:\n    b "^2.0.0"\n\nb@^2.0.0:\n  version "2.1.0"\n'
PNPM = "packages:\n  a@1.0.0:\n    resolution: {integrity: x}\n    peerDependencies:\n      b: ^2.0.0\n  '@s/b@2.0.0': {}\n"
POETRY = '[[package]]\nname = "a"\nversion = "1.0"\n[package.dependencies]\nb = ">=2"\n'
GEMS = "GEM\n  specs:\n    rails (7.0.1)\n      rack (~> 2.2)\n"


@pytest.mark.parametrize(
    ("path", "text", "locked", "wanted"),
    [
        ("package-lock.json", NPM, ("a", "2.0.0"), ("a", "^1.2.0", "z 1.5.0")),
        ("yarn.lock", YARN, ("a", "1.2.0"), ("b", "^2.0.0", "a 1.2.0")),
        ("pnpm-lock.yaml", PNPM, ("@s/b", "2.0.0"), ("b", "^2.0.0", "a 1.0.0")),
        ("poetry.lock", POETRY, ("a", "1.0"), ("b", ">=2", "a 1.0")),
        ("Gemfile.lock", GEMS, ("rails", "7.0.1"), ("rack", "~> 2.2", "rails 7.0.1")),
    ],
)
def test_a_lock_file_tells_versions_and_ranges(
    path: str, text: str, locked: tuple[str, str], wanted: tuple[str, str, str]
) -> None:
    found = marks(path, text)
    assert ("package", locked[0], "defines", "locked", locked[1]) in found
    assert ("package", wanted[0], "uses", wanted[2], wanted[1]) in found


def test_manifests_tell_packages_and_scripts() -> None:
    found = marks(
        "pyproject.toml", '[project]\ndependencies = ["PyYAML>=6"]\n[project.scripts]\nshop = "app.cli:main"\n'
    )
    assert ("package", "pyyaml", "defines", "wanted", ">=6") in found
    assert ("registration", "shop", "defines", "script", "app.cli:main") in found
    node = marks("package.json", '{"dependencies": {"x": "^1"}, "scripts": {"lint": "shopctl --all"}}')
    assert ("package", "x", "defines", "wanted", "^1") in node
    assert ("registration", "lint", "defines", "npm-script", "") in node
    assert ("flag", "--all", "uses", "shopctl --all", "") in node


def test_data_tells_keys_variables_and_commands() -> None:
    found = marks("config.yaml", "db:\n  host: x\nlist:\n  - name: a\n")
    assert ("key", "host", "defines", "db", "") in found
    assert not [each for each in found if each[1] == "name"], "Every item of a list has its own."
    compose = marks("compose.yaml", "services:\n  web:\n    environment:\n      - TOKEN=1\n    command: app --fast\n")
    assert ("env", "TOKEN", "defines", "", "") in compose
    assert ("flag", "--fast", "uses", "app --fast", "") in compose
    api = marks(
        "openapi.yaml",
        "openapi: 3.0.3\npaths:\n  /orders:\n    get:\n      responses:\n        '200':\n          schema:\n"
        "            properties:\n              total: {type: number}\n",
    )
    assert ("route", "GET /orders", "defines", "openapi", "") in api
    assert any(each[:3] == ("key", "total", "defines") and each[3].startswith("openapi:/orders") for each in api)


def test_a_template_is_left_alone_and_a_broken_file_is_said() -> None:
    assert marks("deploy.yaml", "{{- if .x }}\na: [\n{{ end }}\n") == set()
    assert FactReaders().read("a.yaml", "1" * 40, b"a: [").fault
    assert FactReaders().read("uv.lock", "1" * 40, b"[[package").fault


def test_scripts_tell_flags_with_their_command_and_variables_with_their_role() -> None:
    found = marks(
        "run.sh",
        "#!/bin/sh\nexport TOKEN=1\nshop sync \\\n  --dry-run && rsync --delete a b\necho $SECRET ${MODE:-x} $TOKEN\n",
    )
    assert ("env", "TOKEN", "defines", "", "") in found
    assert ("flag", "--dry-run", "uses", "shop sync --dry-run", "") in found
    assert ("flag", "--delete", "uses", "rsync --delete a b", "") in found
    assert ("env", "SECRET", "uses", "", "") in found
    assert ("env", "MODE", "uses", "", "default") in found
    assert not [each for each in found if each[1] == "TOKEN" and each[2] == "uses"]
    assert ("registration", "lint", "defines", "make", "") in marks("Makefile", "lint: a\n\ttrue\n")


ALEMBIC = b'revision: str = "bbb"\ndown_revision: Union[str, None] = ("aaa", "aab")\n'
DJANGO = b"class Migration(migrations.Migration):\n    dependencies = [\n        ('shop', '0006_x'),\n        ('user', '0002_y'),\n    ]\n"


@pytest.mark.parametrize(
    ("path", "data", "mark"),
    [
        ("alembic/versions/bbb_x.py", ALEMBIC, ("revision", "bbb", "alembic/versions", "aaa,aab")),
        ("shop/migrations/0007_z.py", DJANGO, ("revision", "0007_z", "shop/migrations", "0006_x")),
        ("db/migration/V07_1__add.sql", b"", ("migration", "7.1", "db/migration", "add")),
        ("db/migrations/0007_add.up.sql", b"", ("migration", "7", "db/migrations", "add")),
        ("db/migrate/20240101101500_add.rb", b"", ("migration", "20240101101500", "db/migrate", "add")),
    ],
)
def test_a_migration_tells_its_number_or_its_place(path: str, data: bytes, mark: tuple[str, ...]) -> None:
    (found,) = migration_marks(path, data)
    assert (found.kind, found.name, found.scope, found.detail) == mark


@pytest.mark.parametrize(
    "path",
    [
        "db/migrations/0007_add.down.sql",
        "prisma/migrations/20240101101500_add/migration.sql",
        "migrations/20240101101500_add.js",
        "reports/2024_summary.py",
        "tests/01_first.py",
        "shop/migrations/__init__.py",
    ],
)
def test_what_only_looks_like_a_numbered_migration_is_none(path: str) -> None:
    assert migration_marks(path, b"") == ()
