"""What init offers for a forge: the workflow that judges scope there, CODEOWNERS entries, and what to require by hand."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from interlock import __version__
from interlock.core.gate.branch_rules import REQUIRED, WORKFLOW

# Pinned by commit: a tag can be moved.  Both run on Node 24, since the forge's runners have Node 20 no more.
_CHECKOUT: Final = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1"
_PYTHON: Final = "actions/setup-python@5fda3b95a4ea91299a34e894583c3862153e4b97 # v7.0.0"

_TEXT: Final = """\
# Judges every change against its task's card, by this file as it stands on the default branch: a change cannot
# edit its own judge.  Nothing of a change is checked out or run; its head is fetched as data.
# Require the check @REQUIRED@.  The job always runs, so that no name of a branch can skip it.
name: @REQUIRED@

on:
  pull_request_target:
    types: [opened, reopened, synchronize, edited, ready_for_review]
  merge_group:

permissions: {}

concurrency:
  group: @REQUIRED@-${{ github.event.pull_request.number || github.event.merge_group.head_sha }}
  cancel-in-progress: true

jobs:
  scope:
    name: @REQUIRED@
    runs-on: ubuntu-24.04
    timeout-minutes: 10
    permissions:
      contents: read
    steps:
      - name: Check out the default branch, and nothing else
        uses: @CHECKOUT@
        with:
          ref: ${{ github.event.repository.default_branch }}
          fetch-depth: 0
          persist-credentials: false
      - uses: @PYTHON@
        with:
          python-version: "3.12"
      - name: Install Interlock
        # -I: no folder of the checkout, logging/ say, stands for a module of Python's own.
        run: python -I -m pip install --disable-pip-version-check @INSTALL@
      - name: Fetch the change's head as data
        id: head
        env:
          NUMBER: ${{ github.event.pull_request.number }}
          GROUP: ${{ github.event.merge_group.head_ref }}
          EXPECTED: ${{ github.event.pull_request.head.sha }}
          TOKEN: ${{ github.token }}
        shell: bash
        run: |
          set -euo pipefail
          basic="$(printf 'x-access-token:%s' "$TOKEN" | base64 -w0)"
          echo "::add-mask::$basic"
          # In the environment of the one command, for this server alone: on no command line, in no configuration file.
          export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="http.$GITHUB_SERVER_URL/.extraheader"
          export GIT_CONFIG_VALUE_0="AUTHORIZATION: basic $basic"
          if [[ -z "$NUMBER" ]]; then
            # A merge group: its branch ends in pr-NUMBER-COMMIT.
            [[ "$GROUP" =~ /pr-([0-9]+)-[0-9a-f]{40,64}$ ]] || { echo "cannot tell whose group this is: $GROUP"; exit 1; }
            NUMBER="${BASH_REMATCH[1]}"
          fi
          [[ "$NUMBER" =~ ^[0-9]+$ ]] || { echo "not a number: $NUMBER"; exit 1; }
          git fetch --no-tags --no-recurse-submodules origin "+refs/pull/$NUMBER/head:refs/interlock/change"
          head="$(git rev-parse --verify 'refs/interlock/change^{commit}')"
          if [[ -n "$EXPECTED" && "$head" != "$EXPECTED" ]]; then
            echo "the head moved to $head while this was about $EXPECTED; its own run judges it"
            exit 1
          fi
          echo "oid=$head" >> "$GITHUB_OUTPUT"
      - name: Judge it
        env:
          BRANCH: ${{ github.head_ref }}
          HEAD_OID: ${{ steps.head.outputs.oid }}
          DEFAULT: ${{ github.event.repository.default_branch }}
        shell: bash
        run: |
          set -euo pipefail
          interlock scope --change "${BRANCH:-}" --base "refs/remotes/origin/$DEFAULT" --head "$HEAD_OID"
"""


def workflow(install: str | None = None) -> str:
    """The workflow file; ``install`` is what pip is given, this version of Interlock when it is not said."""
    wanted = shlex.quote(install or f"interlock=={__version__}")
    values = {"REQUIRED": REQUIRED, "CHECKOUT": _CHECKOUT, "PYTHON": _PYTHON, "INSTALL": wanted}
    text = _TEXT
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def to_require(owners: Sequence[str], branch: str) -> tuple[str, ...]:
    """What a person sets on the forge, since no file of the repository can."""
    return (
        f"On the forge, protect {branch}:",
        f"  require the check {REQUIRED}, reported by GitHub Actions",
        f"  where your plan has it, require the workflow {WORKFLOW} itself by a ruleset: no other one can report in its name",
        "  require a review of code owners"
        + (f" ({' '.join(owners)})" if owners else ", once CODEOWNERS names them: interlock init --owner @NAME"),
        "  dismiss approvals when new commits are pushed, forbid force pushes and deletion",
        "  let nobody bypass it, administrators included",
        "  require no job that may be skipped: skipped counts as passed there",
    )
