"""Public helpers for tests: fakes, builders and scripted agents; nothing here is used by the product."""
