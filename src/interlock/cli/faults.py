"""How a call ends that no verb could answer: a fault of ours, an interruption, a wrong call; other errors are in render."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import NoReturn

import click

from interlock import __version__
from interlock.host.state import state_folder


def write_fault(fault: BaseException) -> int:
    """Write the fault to a log file, tell where, and give the exit code 3; where none can be written, tell that and the fault alone."""
    text = "".join(traceback.format_exception(fault))
    head = (
        f"interlock {__version__}, Python {platform.python_version()}, {platform.platform()}\n{' '.join(sys.argv)}\n\n"
    )
    path = _log_folder() / f"fault-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
    try:
        path.write_text(head + text, encoding="utf-8")
        hint = f"The log is {path}; please report it."
    except OSError as full:
        hint = f"No log could be written to {path}: {full.strerror}. Mend that, and say the same again: it goes on where it was."
    message = f"a fault of Interlock itself: {type(fault).__name__}: {fault}"
    _print_json("internal", message, hint)
    print(f"error: {message}", file=sys.stderr)
    print(f"\nhint: {hint[0].lower()}{hint[1:]}", file=sys.stderr)
    return 3


def leave_interrupted() -> NoReturn:
    """End at once with 130: what runs in threads is healed by the next call, so nothing waits for it."""
    print("interrupted: the same call goes on where it was.", file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(130)


def tell_misuse(misuse: click.ClickException) -> None:
    """A wrong call as click tells it, and as JSON where that was asked for."""
    context = getattr(misuse, "ctx", None)
    _print_json("misuse", misuse.format_message(), f"{context.command_path} --help" if context else "interlock --help")
    misuse.show()


def _print_json(code: str, message: str, hint: str) -> None:
    if "--json" in sys.argv[1:]:
        print(json.dumps({"code": code, "message": message, "hint": hint}, indent=2))


def _log_folder() -> Path:
    folder = state_folder() / "log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.gettempdir())
    return folder
