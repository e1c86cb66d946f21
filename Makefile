# What people reach for. Every target sets itself up; PYTHON chooses the interpreter.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
export MUJOCO_GL ?= disable

.PHONY: help setup demo test test-slow check format bench parity build clean

help:  ## List the targets.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.installed  ## Make .venv and install everything into it.

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[libero,dev]'
	touch $@

demo: setup  ## Record real LIBERO rollouts, judge them, ask who was right.
	$(BIN)/mango-trace record libero_10 --task 0,3 --fault none --fault all --workers 2 --out runs/demo
	$(BIN)/mango-trace evaluate runs/demo --db runs/demo.duckdb --workers 2
	$(BIN)/mango-trace query agreement --db runs/demo.duckdb
	$(BIN)/mango-trace query localisation --db runs/demo.duckdb

test: setup  ## Run the tests that take minutes at most.
	$(BIN)/python -m pytest -m "not slow"

test-slow: setup  ## Run every test.
	$(BIN)/python -m pytest

check: setup  ## Lint, types and import contracts.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup  ## Format the code.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup  ## Compare speed and size with LIBERO's own replay, in one run.
	$(BIN)/python -m recorder.bench

parity: setup  ## Compare every LIBERO predicate with LIBERO's own check on over 200,000 states.
	$(BIN)/mango-trace parity --suite all --workers 2

build: setup  ## Build the wheel.
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:  ## Remove what the targets made.
	rm -rf $(VENV) build dist runs
