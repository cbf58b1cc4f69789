"""Secrets taken out of logs as they are written: core.redact's work, under the name that the host's logs know."""

from interlock.core.redact import MARK, Redactor, redact_text

__all__ = ["MARK", "Redactor", "redact_text"]
