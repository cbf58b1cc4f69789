"""The wire forms in which models are called; which agent speaks which is its adapter's to say."""

from __future__ import annotations

from typing import Literal

Dialect = Literal["anthropic", "responses", "chat"]
"""Anthropic Messages, OpenAI Responses, OpenAI Chat Completions.  Vendors of the last two share a base URL."""
