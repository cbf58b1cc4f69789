# Interlock's front door.  `make help` lists what can be asked for; docs/howto/set-up.md explains the variables.
SHELL := /bin/bash
.SHELLFLAGS := -eo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

# uv is pinned, and comes through pip; the packages come from uv.lock.  INSTALLER=pip does without uv, and without the lock.
UV_VERSION := 0.13.9
UV ?= .tools/uv-$(UV_VERSION)/bin/uv
INSTALLER ?= uv
export UV_SYSTEM_CERTS ?= 1
export UV_COMPILE_BYTECODE ?= 1
export UV_PYTHON_DOWNLOADS ?= never
export UV_PROJECT_ENVIRONMENT := .venv
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

# Started by root, the environment is made with a Python that other users can read: databases and agents run as them.
PYTHON ?= $(shell new='import sys; sys.exit(sys.version_info < (3, 11))'; \
  if [ "$$(id -u)" = 0 ] && /usr/bin/python3 -c "$$new" 2>/dev/null; then echo /usr/bin/python3; else echo python3; fi)
run := .venv/bin/python

.PHONY: help setup demo test test-long check bench docs clean

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: .venv/.ready ## Make .venv with Interlock and all that its tests need; nothing to do when nothing changed.

demo: setup ## Show the whole life of tasks, refusals included: about a minute, no key, no network.
	@.venv/bin/interlock demo --keep

test: setup ## Run the quick tests: about five minutes.
	$(run) -m pytest -n 3 --dist worksteal -m "not long" $(ARGS)

test-long: setup ## Run crashes, races, whole lives, the wheel; INTERLOCK_TESTS=full for every boundary and the big counts.
	$(run) -m pytest -n 2 --dist worksteal -m long $(ARGS)

check: setup ## Run everything a change must pass: format, lint, types, layers, generated files, documents, tests.
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(run) tools/schema.py --check
	$(run) tools/reference.py --check
	$(run) tools/check_docs.py
	$(MAKE) test

bench: setup ## Run every benchmark; each prints its floor or peer beside its figure.
	@for file in bench/[a-z]*.py; do echo "== $$file"; $(run) "$$file"; done

docs: setup ## Write the generated pages and schemas, then check every document.
	$(run) tools/schema.py
	$(run) tools/reference.py
	$(run) tools/check_docs.py

clean: ## Remove the environment, the tools and the caches; your work stays.
	rm -rf .venv .tools dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests tools bench -name __pycache__ -type d -prune -exec rm -r {} + 2>/dev/null || true

# ---------------------------------------------------------------- how set-up is done
.venv/.ready: pyproject.toml uv.lock Makefile $(if $(filter uv,$(INSTALLER)),$(UV))
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: Python 3.11 or newer is needed, $(PYTHON) is $$($(PYTHON) -V 2>&1); name one: make setup PYTHON=/path/to/python3." >&2; exit 1; }
ifeq ($(INSTALLER),pip)
	$(PYTHON) -m venv .venv || { echo "error: this Python has no venv module (Debian: apt-get install python3-venv), or use INSTALLER=uv." >&2; exit 1; }
	$(run) -m pip install --quiet --upgrade 'pip>=25.1'
	$(run) -m pip install --quiet --editable '.[demo,postgres]' --group dev
else
	$(UV) sync --locked --all-extras --python $(PYTHON)
endif
	@touch $@
	@echo "Ready: .venv/bin/interlock.  next: make demo"

.tools/uv-$(UV_VERSION)/bin/uv:
	@for python in python3 $(PYTHON); do \
	  if $$python -m pip --version >/dev/null 2>&1; then \
	    rm -rf .tools/uv-$(UV_VERSION); \
	    $$python -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target .tools/uv-$(UV_VERSION) uv==$(UV_VERSION) && exit 0 || exit 1; \
	  fi; \
	done; \
	echo "error: no Python here has pip (Debian: apt-get install python3-pip); or name a uv: make setup UV=/path/to/uv." >&2; exit 1
