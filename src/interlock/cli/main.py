"""The interlock command: a group whose verbs are imported when they are called; each verb lives in its own file."""

from __future__ import annotations

import atexit
import gc
import importlib
import signal
import sys
from typing import Final

import click

from interlock import __version__

# verb → (module, help); the order is that of the help.
DAY: Final = {
    "card": ("cmd_card", "Write and check task cards."),
    "dispatch": ("cmd_dispatch", "Admit cards and give each its own tree, branch and ports."),
    "run": ("cmd_run", "Do everything that is due: agents, gates, train."),
    "status": ("cmd_status", "Every job, what waits for a person, and the train."),
    "show": ("cmd_show", "One job: card, attempts, evidence, history."),
}
MORE: Final = {
    "demo": ("cmd_demo", "The whole life of tasks, refusals included, in a temporary repository."),
    "init": ("cmd_init", "Propose interlock.yaml and caps for this repository."),
    "doctor": ("cmd_doctor", "Test what this machine can do, feature by feature."),
    "caps": ("cmd_caps", "Show, propose, pause, drain and resume the caps of classes."),
    "policy": ("cmd_policy", "Which models and rules agents get by the policy, and why."),
    "scope": ("cmd_scope", "Judge changed files against a card."),
    "overlap": ("cmd_overlap", "List files that several branches change."),
    "conflicts": ("cmd_conflicts", "Open changes that do not go together, and what to do about it."),
    "verify": ("cmd_verify", "Run a job's checks on its exact commit and judge them."),
    "audit": ("cmd_audit", "Verify the history, its signatures, logs and landed commits, offline."),
    "report": ("cmd_report", "What became of the night: landed, failed, escalated."),
    "usage": ("cmd_usage", "Tokens and dollars by class, agent, model or phase."),
    "inbox": ("cmd_inbox", "What waits for a person."),
    "decide": ("cmd_decide", "Answer what a job waits for."),
    "retry": ("cmd_retry", "Start another attempt, with a new hypothesis."),
    "stop": ("cmd_stop", "End a job's agent and wait for a decision."),
    "resume": ("cmd_resume", "Go on with a job that waits, or whose folder is gone."),
    "logs": ("cmd_logs", "What a job's agent wrote."),
    "up": ("cmd_up", "Render, migrate and start what a task needs around it; returns when it is ready."),
    "down": ("cmd_down", "Stop a task's services."),
    "shell": ("cmd_shell", "Enter a task, behind its own walls."),
    "open": ("cmd_open", "Write a task's tree to a folder, for an editor."),
    "env": ("cmd_env", "The variables of a job's task."),
    "train": ("cmd_train", "Show, hold, add to and run the train."),
    "sign-off": ("cmd_sign_off", "Approve the combined result of the train."),
    "resolve": ("cmd_resolve", "Bring a change together with one that landed, against both intents."),
    "revert": ("cmd_revert", "Take a landed change back through the train."),
    "clean": ("cmd_clean", "Take a task's tree away, after a snapshot."),
    "restore": ("cmd_restore", "Bring a cleaned task back."),
    "mcp": ("cmd_mcp", "The queue for a manager agent, over the Model Context Protocol."),
    "idle": ("cmd_idle", "Tasks in which nothing moved for days."),
}
VERBS: Final = {**DAY, **MORE}

_RARELY: Final = (150_000, 5, 5)
"""When the collector looks for cycles: a verb makes fewer objects than that, and nearly all of them stay to its end."""

EXAMPLES = """\
A normal day:

\b
  interlock card check                    what keeps cards from being ready
  interlock dispatch billing-retry        admit it, make its tree, branch and ports
  interlock run                           agents, checks, scope, train: until nothing is due
  interlock status                        what goes on, and what waits for you
  interlock show billing-retry            one job with its evidence

See it all in a minute, without a key or network: interlock demo
"""


class LazyGroup(click.Group):
    """A group that imports a verb's module only when that verb is called or its help is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"interlock.cli.{VERBS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for title, verbs in (("Every day", DAY), ("More", MORE)):
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, (_, text) in verbs.items()])


@click.command(cls=LazyGroup, help=f"Land only work that is isolated, in scope and proven.\n\n{EXAMPLES}")
@click.version_option(__version__, prog_name="interlock")
def cli() -> None:
    """Do nothing by itself: the verbs do."""


def main() -> None:
    """Run the command line; a fault of ours ends with 3 and a log file, an interruption with 130."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # taken over as ignored, every command would seem to end with 0
    gc.set_threshold(*_RARELY)
    atexit.register(
        gc.freeze
    )  # else the end of Python looks for cycles in all that was loaded: a fifth of a short verb
    try:
        cli.main(prog_name="interlock", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        from interlock.cli.faults import leave_interrupted

        leave_interrupted()
    except click.ClickException as misuse:
        from interlock.cli.faults import tell_misuse

        tell_misuse(misuse)
        sys.exit(misuse.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except Exception as fault:  # noqa: BLE001
        from interlock.cli.faults import write_fault

        sys.exit(write_fault(fault))
