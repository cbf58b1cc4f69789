"""Scripted agents that misbehave: what each writes and does, and how its run must come out; running them is the tests' work.

The list is facts/agents §8.  They speak as Claude Code (``claude``) and Codex (``codex``) do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from interlock.core.agent.seen import Summary
from interlock.core.agent.usage import UNKNOWN, Usage
from interlock.ports.processes import End

PRELUDE = """
import json, os, signal, subprocess, sys, time
TOKEN = sys.argv[1]
def raw(data): sys.stdout.buffer.write(data); sys.stdout.buffer.flush()
def say(**shape): raw(json.dumps(shape).encode() + b"\\n")
def begin(session="s1"): say(subtype="init", type="system", session_id=session, model="m1")
def text(words): say(message={"id": "m", "content": [{"type": "text", "text": words}]}, type="assistant")
def result(**more): say(**{"subtype": "success", "is_error": False, "result": "All done.", **more, "type": "result"})
def item(kind="item.completed", **shape): say(type=kind, item=shape)
def thread(): say(type="thread.started", thread_id="t1")
def turn(**usage): say(type="turn.completed", usage=usage)
def sleeper(**how): return subprocess.Popen([TOKEN, "600"], executable="/usr/bin/sleep", **how)
def stay(): sleeper().wait()
def deaf():
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(each, signal.SIG_IGN)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A misbehaviour: the script after ``PRELUDE``, the launch's limits, and the end, outcome and words that must come of it.

    ``also`` looks at the end and at what was seen; ``left`` counts what was left behind and ended.
    """

    script: str
    how: str
    kind: str
    use: str = "claude"
    limits: dict[str, float] = field(default_factory=dict)
    says: str = ""
    left: int = 0
    before: Usage = UNKNOWN
    also: Callable[[End, Summary], bool] = lambda _end, _seen: True


SOON: dict[str, float] = {"after_end": 0.5}

CASES: dict[str, Case] = {
    "exits with 0 and no last word": Case(
        script="begin(); text('All done.')", how="exited", kind="protocol-error", says="never said that it had ended"
    ),
    "exits with 0 and no last word, codex": Case(
        script="thread(); item(id='1', type='agent_message', text='All done.')",
        use="codex",
        how="exited",
        kind="protocol-error",
    ),
    "says its last and stays": Case(
        script="begin(); result(); stay()", how="ended", kind="completed", limits=SOON, left=0
    ),
    "says its last and stays, codex": Case(
        script="thread(); turn(input_tokens=5, output_tokens=1); stay()",
        use="codex",
        how="ended",
        kind="completed",
        limits=SOON,
    ),
    "says its last and goes on writing": Case(
        script="begin(); result()\nwhile True: text('more'); time.sleep(0.05)",
        how="ended",
        kind="completed",
        limits=SOON,
    ),
    "never says a word": Case(script="stay()", how="startup-limit", kind="limit", limits={"startup": 0.7}),
    "falls silent": Case(script="begin(); stay()", how="idle-limit", kind="limit", limits={"idle": 0.7}),
    "does not end": Case(
        script="begin()\nwhile True: text('x'); time.sleep(0.05)", how="wall-limit", kind="limit", limits={"wall": 1.0}
    ),
    "is deaf to polite signals": Case(
        script="deaf(); begin(); stay()", how="idle-limit", kind="limit", limits={"idle": 0.7}
    ),
    "leaves a process in a session of its own": Case(
        script="begin(); sleeper(start_new_session=True); result()", how="exited", kind="completed", left=1
    ),
    "is a launcher that starts itself again": Case(
        script="""
if len(sys.argv) == 2:
    again = subprocess.Popen([sys.executable, "-I", "-S", sys.argv[0], TOKEN, "again"], start_new_session=True)
    while True: time.sleep(1)
begin(); deaf()
sleeper(start_new_session=True, env={})
while True: text('still here'); time.sleep(0.1)
""",
        how="wall-limit",
        kind="limit",
        limits={"wall": 1.2},
        left=2,
    ),
    "writes a line of five megabytes": Case(
        script="begin(); text('x' * (5 << 20)); result()",
        how="exited",
        kind="completed",
        also=lambda _end, seen: len(seen.last_text) > 100_000,
    ),
    "writes what is no UTF-8": Case(
        script="begin(); raw(b'\\xff\\xfe{\"type\": \"\\xc3\\n\\x00\\x1b[31m\\n'); result(result='done \\ud800')",
        how="exited",
        kind="completed",
        also=lambda _end, seen: seen.unknown >= 2,
    ),
    "says its last in what is no UTF-8": Case(
        script="""
begin(); raw(b'{"subtype": "success", "is_error": false, "result": "gr\\xf6\\xdfe", "type": "result"}\\n'); stay()
""",
        how="ended",
        kind="completed",
        limits=SOON,
    ),
    "writes its lines in pieces": Case(
        script="""
begin()
for byte in json.dumps({"is_error": False, "subtype": "success", "result": "größe", "type": "result"}).encode():
    raw(bytes((byte,))); time.sleep(0.002)
raw(b"\\n"); stay()
""",
        how="ended",
        kind="completed",
        limits=SOON,
    ),
    "greets before it speaks": Case(
        script="raw(b'Welcome!\\nA new version is there.\\n[{}\\n'); begin(); result()", how="exited", kind="completed"
    ),
    "floods standard error": Case(
        script="begin(); sys.stderr.write('e' * 70 + '\\n'); sys.stderr.write('noise ' * 300_000); result()",
        how="exited",
        kind="completed",
        also=lambda end, _seen: "stderr: " in end.tail,
    ),
    "reads standard input": Case(
        script="begin(); text('got ' + repr(sys.stdin.read())); result()",
        how="exited",
        kind="completed",
        also=lambda _end, seen: seen.last_text == "got ''",
    ),
    "is refused and calls it done": Case(
        script="""
begin()
result(permission_denials=[{"tool_name": "Write", "tool_use_id": "1", "tool_input": {"file_path": "/ws/a.py"}}])
""",
        how="exited",
        kind="denied",
        says="a.py",
    ),
    "is refused and calls it done, codex": Case(
        script="""
thread()
item(id="1", type="command_execution", command="git push", status="declined", aggregated_output="")
item(id="2", type="agent_message", text="All done."); turn(input_tokens=5, output_tokens=1)
""",
        use="codex",
        how="exited",
        kind="denied",
        says="git push",
    ),
    "tries again and again and succeeds": Case(
        script="""
begin()
for attempt in range(10):
    say(subtype="api_retry", attempt=attempt, max_retries=10, retry_delay_ms=1, error_status=529, type="system")
result()
""",
        how="exited",
        kind="completed",
        also=lambda _end, seen: seen.retries == 10,
    ),
    "gives up on its models with a success": Case(
        script="begin(); result(is_error=True, api_error_status=401, terminal_reason='api_error'); sys.exit(1)",
        how="exited",
        kind="api-error",
    ),
    "gives up on its models, codex": Case(
        script="""
thread()
say(type="error", message="Reconnecting... 1/5")
say(type="turn.failed", error={"message": "exceeded retry limit, last status: 429 Too Many Requests"}); sys.exit(1)
""",
        use="codex",
        how="exited",
        kind="api-error",
        also=lambda _end, seen: seen.ended is not None and seen.ended.fault == "rate",
    ),
    "counts its session from the start": Case(
        script="thread(); turn(input_tokens=5000, cached_input_tokens=600, output_tokens=150)",
        use="codex",
        how="exited",
        kind="completed",
        before=Usage(uncached_input=3600, cache_read=400, output=100),
        also=lambda _end, seen: (seen.usage.uncached_input, seen.usage.cache_read, seen.usage.output) == (800, 200, 50),
    ),
    "has no price": Case(
        script="thread(); turn(input_tokens=5000, output_tokens=150)",
        use="codex",
        how="exited",
        kind="completed",
        also=lambda _end, seen: seen.usd is None and seen.usage.total == 5150,
    ),
    "has a session that is in use": Case(
        script="sys.stderr.write('Error: Session ID s1 is already in use.\\n'); sys.exit(1)",
        how="exited",
        kind="crashed",
        says="already in use",
    ),
    "dies by a signal": Case(
        # 1 and not 0, for which a program that dumps are piped to is started all the same: that may take its time.
        script="import resource; resource.setrlimit(resource.RLIMIT_CORE, (1, 1)); begin(); os.kill(os.getpid(), 11)",
        how="signalled",
        kind="crashed",
        says="SIGSEGV",
    ),
    "dies without a word": Case(script="sys.exit(7)", how="exited", kind="crashed", says="7"),
    "says that it is done and exits with 1": Case(
        script="begin(); result(); sys.exit(1)", how="exited", kind="completed"
    ),
}
