# make demo    a whole campaign on a simulated bank, and its report, in under a minute
# make test    every test, simulations in their short form
# make test-slow    the long forms of simulations: more repeats, more models
# make test-label-studio    a round trip through the real Label Studio, in an environment of its own
# make test-faults    twenty minutes of attacks: kills, damaged files, odd inputs; with the figures of the run
# make check   style, types, layers, documentation, known holes
# make bench   speed
# make docs    the documentation, as a site in site/
# Each builds .venv first if it is not there: python3 (3.11 or newer), make and gcc are all it needs.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

# The paper's data sets, where they lie beside this folder; tests that need one skip where they do not.
ifneq ($(wildcard ../shared/data),)
export UNSKEW_DATA ?= $(abspath ../shared/data)
endif

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-label-studio test-faults check bench docs clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo "unskew needs Python 3.11 or newer as $(PYTHON); name another with: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
	  || { echo "$(PYTHON) has no venv module; install it (on Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "preparing .venv ..."
	@$(PIP) install -c constraints.txt -e '.[dev,docs]'
	@touch $@

demo: $(READY)
	@rm -rf unskew-demo
	@$(BIN)/unskew demo

test: $(READY)
	$(BIN)/python -m pytest -q -n auto --dist worksteal

test-slow: $(READY)
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m slow

test-label-studio: $(READY)
	@test -x .venv-label-studio/bin/python || $(PYTHON) -m venv .venv-label-studio
	@.venv-label-studio/bin/python -m pip --disable-pip-version-check -qq install label-studio==1.23.2
	$(BIN)/python -m pytest -q -m label_studio tests/campaigns/exchange/test_label_studio_server.py

test-faults: $(READY)
	PYTHONPATH=tests $(BIN)/python -m faults

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit -q -c pyproject.toml -r src
	@$(BIN)/python .ci/known_holes.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(READY)
	@$(PIP) install -c constraints.txt -e '.[bench]'
	$(BIN)/python -m benchmarks

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html"

clean:
	rm -rf .venv .venv-label-studio unskew-demo site dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
