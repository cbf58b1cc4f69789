"""``python -m interlock.task``; the work is in main."""

import sys

from interlock.task.main import main

sys.exit(main())
