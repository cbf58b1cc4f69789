"""Dependencies of a warm base: which the policy of a commit wants, their digest, and their installation behind walls."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import sysconfig
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from interlock.adapters.git.sealed import owning, store
from interlock.adapters.git.sealed.layout import Kit
from interlock.core.contract.around import Dependency
from interlock.core.contract.policy import Policy
from interlock.core.gate.approvals import hosts_allowed, rules_of
from interlock.core.problems import Refused, refused
from interlock.core.sandbox import AT, HOME, Sandbox
from interlock.ports.isolation import Room

# What makes an installer leave files that can be laid under every task: real copies, and no interpreter of its own.
_SETTINGS: Final = {
    "uv": {"UV_LINK_MODE": "copy", "UV_CACHE_DIR": f"{HOME}/.cache/uv", "UV_PYTHON_DOWNLOADS": "never"},
    "pnpm": {"npm_config_package_import_method": "copy", "npm_config_store_dir": f"{HOME}/.cache/pnpm", "CI": "true"},
    "npm": {"npm_config_cache": f"{HOME}/.cache/npm", "npm_config_update_notifier": "false"},
    "command": {},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Dependencies of a commit by its policy; two commits with the same digest can stand on one base.

    ``trusted`` says that the default branch held the commit when this was asked: its installers run the team's code.
    """

    policy: Policy
    digest: str
    trusted: bool

    @property
    def dependencies(self) -> tuple[Dependency, ...]:
        return self.policy.dependencies


def needs(kit: Kit, commit: str) -> Needs:
    """What the policy of a commit wants installed.  Raises Refused (sandbox) for a lock file that is not there."""
    trusted = store.is_trunk(kit, commit)
    # A task's own policy is never asked: what the default branch says now holds for it.
    policy = kit.policy(commit if trusted else kit.mirror.last_base().oid)
    wanted = policy.dependencies
    if not wanted:
        return Needs(policy=policy, digest="none", trusted=trusted)
    paths = [_in(each.folder, lock) for each in wanted for lock in each.lock]
    lines = os.fsencode("".join(f"{commit}:{path}\n" for path in paths))
    answers = kit.mirror.git.run("cat-file", "--batch-check=%(objectname)", stdin=lines).text.splitlines()
    for path, answer in zip(paths, answers, strict=True):
        if answer.endswith(" missing"):
            raise refused(
                "sandbox",
                f"The lock file {path} is not in the commit {commit[:12]}.",
                "Dependencies are installed once for each state of their lock files, and this one has no state.",
                "Commit the lock file, or name the right one under dependencies in interlock.yaml.",
            )
    machine = [sysconfig.get_platform(), *platform.libc_ver()]
    facts = json.dumps([[asdict(each) for each in wanted], answers, machine], sort_keys=True)
    digest = hashlib.sha256(os.fsencode(facts)).hexdigest()[:32]
    return Needs(policy=policy, digest=digest, trusted=trusted)


def _in(folder: str, path: str) -> str:
    return os.path.normpath(f"{folder}/{path}") if folder else path


def install_all(kit: Kit, commit: str, wanted: Needs, tree: Path, home: Path) -> None:
    """Run the installers in a tree of the commit, at the path that it has in every sandbox.

    On the default branch they have the policy's hosts that need no approval.  Elsewhere they run a task's own code,
    whose card may allow it less, so there is no network; then only what needs none can be installed.  Proxy and
    installers write down what they did below ``logs``.  Raises Refused (sandbox) with the installer's last lines.
    """
    policy = wanted.policy
    record = kit.layout.root / "logs" / f"install-{wanted.digest[:12]}-{commit[:12]}"
    record.mkdir(parents=True, exist_ok=True)
    tools = [Path(tool).expanduser() for tool in policy.sandbox.tools]
    sandbox = Sandbox(
        tree=str(tree),
        home=str(home),
        binds=(store.bind(kit.layout),),
        hosts=hosts_allowed(rules_of(policy), (), policy.network or ()) if wanted.trusted else (),
        record=str(record),
        tools=tuple(str(tool) for tool in tools if tool.exists()),
        user=owning.agent(),
    )
    room = Room(path=tree, written=tree, sandbox=sandbox)
    for number, each in enumerate(wanted.dependencies):
        log = record / f"{number}.log"
        try:
            kit.install(room, command_of(each), log)
        except Refused as fault:
            if fault.refusal.rule != "sandbox":
                raise
            raise refused(
                "sandbox",
                f"The dependencies could not be installed ({each.install}): {fault.refusal.what}",
                "A task without them could not run its checks, so it does not start.",
                f"Read {log}, mend the cause, and dispatch again. {_closed(wanted)}{fault.refusal.would_change}".strip(),
                holders=fault.refusal.holders,
            ) from fault


def _closed(wanted: Needs) -> str:
    """What to do when a task's own lock file wants a network that its installer does not get."""
    if wanted.trusted or not wanted.policy.network:
        return ""
    return (
        "The commit is not on the default branch, so its installers had no network: "
        "have a person land the lock file there first, and let the task stand on that. "
    )


def command_of(wanted: Dependency) -> str:
    """The shell command of one installer, with its settings and its folder."""
    exports = "".join(f"export {name}={shlex.quote(value)}; " for name, value in _SETTINGS[wanted.use].items())
    folder = os.path.normpath(f"{AT}/{wanted.folder}")
    return f"{exports}cd {shlex.quote(folder)} && {wanted.install}"
