"""Cases that need a whole repository get the same world as the use-case tests."""

from tests.app.conftest import town, world

__all__ = ["town", "world"]
