"""``python -m interlock`` is the interlock command; nothing else lives here."""

from interlock.cli.main import main

if __name__ == "__main__":
    main()
