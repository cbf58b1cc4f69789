"""The classes every team starts with, and how the team's own are laid over them."""

from __future__ import annotations

from interlock.core.contract.policy import TaskClass

# Source: seed 000, table of task classes; the paths name what only a serial class may own (row A2).  What everybody else stands on
# is solo in the train (facts/gating §6.7): a red one blames nobody else, and nothing is tested on top of a schema that may go.
DEFAULT_CLASSES: tuple[TaskClass, ...] = (
    TaskClass(name="vertical-slice", kind="parallel"),
    TaskClass(name="tests", kind="parallel"),
    TaskClass(name="bug-fix", kind="parallel"),
    TaskClass(
        name="shared-contract", kind="serial", solo=True, paths=("**/openapi.yaml", "**/openapi.json", "**/*.proto")
    ),
    TaskClass(
        name="migration",
        kind="serial",
        solo=True,
        paths=("migrations/**", "**/migrations/**", "**/alembic/versions/**"),
    ),
    TaskClass(
        name="dependency-upgrade",
        kind="serial",
        solo=True,
        paths=(
            "**/package-lock.json",
            "**/pnpm-lock.yaml",
            "**/yarn.lock",
            "**/uv.lock",
            "**/poetry.lock",
            "**/Cargo.lock",
            "**/go.sum",
            "**/Gemfile.lock",
            "**/composer.lock",
        ),
    ),
    TaskClass(name="cross-cutting", kind="alone", solo=True),
)
