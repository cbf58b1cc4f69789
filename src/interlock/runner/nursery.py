"""``python -m interlock.runner.nursery``: imports what runners need and has one forked for each order; host.nursery gives the orders.

An order is a JSON line on standard input, the answer the status of the runner's first process on standard output.  It
ends with its standard input.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Final

from interlock.host import forking, namespace
from interlock.runner.main import main as run

_RUNNER: Final = "interlock.runner"


def main() -> None:
    """Carry out orders until nobody gives any more."""
    for line in sys.stdin.buffer:
        order = json.loads(line)
        for name in order["imports"]:
            importlib.import_module(name)
        if order["contain"]:
            namespace.prefix()  # found out once for all of them
        os.write(1, b"%d\n" % forking.start((_RUNNER, order["folder"]), order["log"], run))


if __name__ == "__main__":
    main()
