"""Run inside of a sandbox: calls a model twice, then looks for a key in everything that can be read, and says where it was.

Takes the key with each byte changed, so that this process holds it only while it compares.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress

LEFT_OUT = {"/proc", "/sys", "/dev", "/usr", "/lib", "/lib64", "/bin", "/sbin"}
ENDLESS = {"kmsg", "kcore", "kpagecount", "kpageflags", "kpagecgroup", "pagemap", "clear_refs", "mem", "trace_pipe"}
MOST = 8 << 20


def call() -> tuple[int, bytes]:
    body = json.dumps({"model": "cheap", "stream": True, "messages": [], "tools": [{"name": "x"}]}).encode()
    asked = urllib.request.Request(os.environ["MODELS"] + "/v1/messages", body, {"x-api-key": os.environ["TOKEN"]})
    try:
        with urllib.request.urlopen(asked, timeout=20) as answer:
            return answer.status, answer.read() + str(answer.headers).encode()
    except urllib.error.HTTPError as no:
        return no.code, no.read() + str(no.headers).encode()


def files() -> Iterator[tuple[str, bytes]]:
    for root in ("/", "/proc"):
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if root == "/proc" or os.path.join(folder, name) not in LEFT_OUT]
            for name in names:
                path = os.path.join(folder, name)
                if name not in ENDLESS:
                    yield path, read(path)


def read(path: str) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(file, MOST)
    except OSError:
        return b""
    finally:
        os.close(file)


def memory() -> Iterator[tuple[str, bytes]]:
    """The memory of every process that can be seen but this one."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as held:
                for line in maps:
                    span, mode = line.split()[:2]
                    start, end = (int(part, 16) for part in span.split("-"))
                    if mode[0] == "r" and start < 1 << 62:
                        with suppress(OSError):
                            held.seek(start)
                            yield f"memory of {pid}", held.read(min(end - start, MOST))
        except OSError:
            continue


def main() -> None:
    key = bytes(byte ^ 1 for byte in bytes.fromhex(sys.argv[1]))
    found = [f"variable {name}" for name, value in os.environ.items() if key in value.encode()]
    statuses, looked = [], 0
    for _ in range(2 if "MODELS" in os.environ else 0):
        status, said = call()
        statuses.append(status)
        found += ["answer"] if key in said else []
    for source in (files, memory):
        for where, data in source():
            looked += bool(data)
            found += [where] if key in data else []
    print(json.dumps({"statuses": statuses, "found": found, "looked": looked}))


if __name__ == "__main__":
    main()
