"""Interlock: land only work of coding agents that is isolated, in scope and proven; only the version lives here."""

__version__ = "0.1.0"
