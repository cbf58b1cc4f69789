"""Use cases: plain functions that put steps in order, the bundle of ports first; no adapter is named here."""
