"""Sealed tasks: a private repository over a warm base, made in constant time; worktrees are the modules beside this folder."""
