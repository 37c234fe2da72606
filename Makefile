# Works on a fresh machine with Python (3.11 or newer) and make. Two commands matter:
#
#   make run     installs into .venv and runs the quick benchmark
#   make test    installs into .venv and runs lint, types and all tests
#
# `make PYTHON=python3.13 run` picks another Python. RUN and TEST_ARGS are handed on:
# `make run RUN="bench --suite seed --threads 2"`, `make test TEST_ARGS="-k einsum"`. Tests run in
# two processes (JOBS=8: in eight), a file at a time, so that kernels are compiled once a file.

PYTHON ?=
RUN ?= bench --suite quick
TEST_ARGS ?=
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin

# The first Python that is new enough and can make environments: a name on the path may be a shim
# that leads nowhere, or a Python without venv, so each is asked.
CANDIDATES := $(or $(PYTHON),python3 python3.13 python3.12 python3.14 python3.11 python)
ASK := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
FIND_PYTHON = for python in $(CANDIDATES); do \
	  if "$$python" -c '$(ASK)' >/dev/null 2>&1; then echo "$$python"; exit 0; fi; \
	done; \
	echo "tensorop needs Python 3.11 or newer with the venv module: none of" \
	  "'$(CANDIDATES)' is one. Install one (on Debian and Ubuntu also python3-venv)," \
	  "or name it: make PYTHON=/path/to/python" >&2; exit 1

.PHONY: help run test lint types tests smoke bench wheel clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^#   //p' Makefile

$(BIN)/python:
	@python="$$($(FIND_PYTHON))" && echo "$$python -m venv $(VENV)" && "$$python" -m venv $(VENV)

# One stamp a set of extras, so that an install is not repeated until pyproject.toml changes. The
# install is editable: the environment always sees the working tree.
$(VENV)/.installed: pyproject.toml tensorop/_version.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-%: pyproject.toml tensorop/_version.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@ $(VENV)/.installed

run: $(VENV)/.installed
	$(BIN)/python -m tensorop $(RUN)

test: lint types tests

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .

types: $(VENV)/.installed-test
	$(BIN)/mypy --strict

tests: $(VENV)/.installed-test
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile $(TEST_ARGS)

smoke: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/python -m pytest -q tests/test_smoke.py

bench: $(VENV)/.installed-bench
	$(BIN)/python -m pytest bench --benchmark-only $(TEST_ARGS)

wheel: $(BIN)/python
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
