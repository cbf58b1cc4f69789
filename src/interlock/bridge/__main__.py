"""``python -m interlock.bridge``; the work is in main."""

import sys

from interlock.bridge.main import main

sys.exit(main())
