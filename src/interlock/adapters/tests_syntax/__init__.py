"""Readers of test files: what each test asserts and what lets it off; whether that became less is core.gate.weakened's."""
