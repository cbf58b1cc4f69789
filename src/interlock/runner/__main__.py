"""``python -m interlock.runner FOLDER``; the work is in main."""

from interlock.runner.main import main

main()
