"""Writing the guards of a task: small scripts before rm, git and others on its PATH; what they refuse is core.gate's to say.

They are a courtesy: who calls a program by its whole path goes round them.  What holds in a sealed task is the
kernel; at level worktree nothing else does.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from interlock.core.contract.around import ApprovalRule
from interlock.core.gate import approvals, guards
from interlock.core.gate.guard_git import SCRATCH
from interlock.core.gate.guard_places import covers
from interlock.host import files

ORDERS: Final = "guards.json"
SCRIPT: Final = ".interlock-guard"
_ROOT: Final = Path(__file__).resolve().parents[2]

# One script for every program, so that it knows by its own name which.  It starts no process of its own unless a
# word looks dangerous: a build that calls rm a thousand times must not feel it.
_GUARD: Final = r"""#!/bin/sh
# Interlock stands before this program: it looks at what would be destroyed, then becomes the real one.
_il_name=${0##*/} _il_here=${0%/*} _il_tree=@TREE@ _il_ask='' _il_end=''

_il_odd() { # whether a path may lead out of the tree, by its words and the links on its way
  case $1 in
    '' | . | ./ | */. | */./ | .. | ../* | */.. | */../* | *.git | *.git/*) return 0 ;;
    "$_il_tree"/?*) _il_at=$_il_tree/ _il_left=${1#"$_il_tree"/} ;;
    @SCRATCH@) _il_at=/ _il_left=${1#/} ;;
    /*) return 0 ;;
    *) _il_at='' _il_left=$1 ;;
  esac
  [ -n "$_il_end" ] && [ -L "$1" ] && return 0
  while :; do
    case $_il_left in
      */*) _il_at=$_il_at${_il_left%%/*} _il_left=${_il_left#*/} ;;
      *) return 1 ;;
    esac
    [ -L "$_il_at" ] && return 0
    _il_at=$_il_at/
  done
}

_il_outside() { # whether the present folder is not plainly one of the task's
  case $PWD in
    "$_il_tree") return 1 ;;
    *) _il_odd "$PWD/x" ;;
  esac
}

_il_top() { # how many names are to be seen at the top of the tree, and the first of them
  _il_number=$# _il_first=${1##*/}
}

_il_whole() { # whether the words may be everything at the top of the tree
  _il_top "$_il_tree"/*
  [ $# -ge "$_il_number" ] || return 1
  for _il_one do
    case $_il_one in "$_il_first" | "$_il_first"/* | */"$_il_first" | */"$_il_first"/*) return 0 ;; esac
  done
  return 1
}

_il_paths() { # every word that is no option, and the folder that relative ones start from
  for _il_one do
    case $_il_one in
      --no-preserve-root | -*/*) return 0 ;;
      -*) ;;
      *) _il_odd "$_il_one" && return 0 ;;
    esac
  done
  _il_outside
}

_il_looks() { # whether the call has to be judged
  case $_il_name in
    rm | rmdir | unlink | mv)
      _il_paths "$@" && return 0
      [ $# -gt 1 ] && _il_whole "$@"
      ;;
    shred | truncate) _il_end=1 && _il_paths "$@" ;;
    chmod | chown | chgrp)
      for _il_one do
        case $_il_one in --r* | -R* | -[!-]*R*) _il_end=1 && _il_paths "$@" && return 0 ;; esac
      done
      return 1
      ;;
    dd)
      for _il_one do
        case $_il_one in
          of=/dev/null) ;;
          of=*) _il_end=1 && _il_odd "${_il_one#of=}" && return 0 ;;
        esac
      done
      _il_outside
      ;;
    find)
      for _il_one do
        case $_il_one in -delete | *rm | *rm\ * | *rmdir* | *shred* | *truncate* | *unlink*) return 0 ;; esac
      done
      return 1
      ;;
    rsync)
      for _il_one do case $_il_one in --del*) return 0 ;; esac done
      return 1
      ;;
    git) _il_git "$@" ;;
    mkfs* | mke2fs | mkswap | wipefs) return 0 ;;
    *) return 1 ;;
  esac
}

_il_git() {
  for _il_one do
    case $_il_one in
      push | send-pack | clean | reset | filter-branch | filter-repo) return 0 ;;
      gc | prune | reflog | worktree | update-ref | alias.*) return 0 ;;
      restore | checkout | switch | branch | stash) _il_more=1 ;;
      -C | -c | --git-dir* | --work-tree*) _il_more=${_il_more:+2} && _il_far=1 ;;
      -d | -D | -m | -M | -f | --f* | --d* | --m* | -- | . | clear | drop) _il_cuts=1 ;;
    esac
  done
  [ -n "${_il_more-}" ] && { [ -n "${_il_far-}" ] || [ -n "${_il_cuts-}" ] || _il_outside; }
}

_il_approval() { # whether a rule about approvals may speak of this call
  case $_il_name in
@ALWAYS@    *) ;;
  esac
  for _il_one do
    case $_il_name in
@SIGNS@      *) return 1 ;;
    esac
  done
  return 1
}

if _il_looks "$@" || _il_approval "$@"; then
  @PYTHON@ -I -S -c 'import sys; sys.path.append(sys.argv.pop(1)); from interlock.task.guard import main; sys.exit(main(sys.argv[1:]))' @ROOT@ "$_il_here" "$_il_name" "$@" || exit 1
fi

_il_left=$PATH:
case :$_il_left in *:"$_il_here":*) _il_left=:$_il_left _il_left=${_il_left#*:"$_il_here":} ;; esac
while [ -n "$_il_left" ]; do
  _il_one=${_il_left%%:*} _il_left=${_il_left#*:}
  [ -n "$_il_one" ] && [ -f "$_il_one/$_il_name" ] && [ -x "$_il_one/$_il_name" ] && exec "$_il_one/$_il_name" "$@"
done
printf '%s: not found\n' "$_il_name" >&2
exit 127
"""


def write(
    folder: Path,
    *,
    tree: str,
    home: str,
    shared: Sequence[str] = (),
    rules: Sequence[ApprovalRule] = (),
    approved: Collection[str] = (),
    search: str | None = None,
    python: str = sys.executable,
    root: str = str(_ROOT),
) -> tuple[str, ...]:
    """Put the guards into a folder that stands first on a task's PATH; gives the programs that they stand before.

    ``tree``, ``home`` and ``shared`` are absolute paths as the task sees them; ``approved`` what a person approved
    for this job.  Only programs that are found on ``search`` (default: this process's PATH) get a guard, so that
    none seems to be there that is not.  ``python`` and ``root`` are the interpreter and the folder of our package as
    the task sees them.  Doing it again takes over what changed.  Raises OSError.
    """
    orders = {
        "tree": tree,
        "home": home,
        "shared": list(shared),
        "rules": approvals.rules_to(rules),
        "approved": sorted(approved),
    }
    folder.mkdir(parents=True, exist_ok=True)
    files.write_whole(folder / ORDERS, json.dumps(orders).encode(), mode=0o644)
    files.write_whole(folder / SCRIPT, _script(tree, (home, *shared), rules, python, root).encode(), mode=0o755)
    wanted = {*guards.PROGRAMS, *approvals.programs(rules)}
    beyond = _beyond(folder, search)
    there = tuple(sorted(name for name in wanted if shutil.which(name, path=beyond)))
    links = {each.name for each in folder.iterdir() if each.is_symlink()}
    for name in links - set(there):
        (folder / name).unlink()
    for name in set(there) - links:
        (folder / name).symlink_to(SCRIPT)
    return there


def _beyond(folder: Path, search: str | None) -> str:
    """The PATH without the guards themselves."""
    import os

    path = os.environ.get("PATH", os.defpath) if search is None else search
    return ":".join(part for part in path.split(":") if part and part != str(folder))


def _script(tree: str, guarded: Sequence[str], rules: Sequence[ApprovalRule], python: str, root: str) -> str:
    # A scratch folder is quick to judge only where nothing that must stay lies in it.
    quick = [each for each in SCRATCH if not any(covers(each, place) for place in guarded)]
    named = {name: approvals.signs(rules, name) for name in approvals.programs(rules)}
    always = [name for name, words in named.items() if "*" in words]
    signs = "".join(
        f"      {name}) case $_il_one in {_cases(words)}) return 0 ;; esac ;;\n" for name, words in named.items()
    )
    parts = {
        "@TREE@": shlex.quote(tree.rstrip("/")),
        "@SCRATCH@": " | ".join(f"{each}/?*" for each in quick) or "//",
        "@ALWAYS@": f"    {' | '.join(always)}) return 0 ;;\n" if always else "",
        "@SIGNS@": signs,
        "@PYTHON@": shlex.quote(python),
        "@ROOT@": shlex.quote(root),
    }
    return re.sub("|".join(parts), lambda found: parts[found[0]], _GUARD)


def _cases(words: Sequence[str]) -> str:
    """Patterns as the shell writes them: the same wildcards, everything else taken as it stands."""
    return " | ".join(re.sub(r"[^A-Za-z0-9_.:/@%+,=*?\[\]!-]", lambda found: "\\" + found[0], word) for word in words)
