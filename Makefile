# What people reach for. Every target sets itself up; PYTHON chooses the interpreter.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
export MUJOCO_GL ?= disable

.PHONY: help setup system-packages demo rq1 rq2 rq3 rq4 test test-wheel test-slow check format bench bench-compare parity build clean

help:  ## List the targets.
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.installed  ## Make .venv and install everything into it.

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[libero,dev]'
	$(BIN)/python -c 'import cv2' 2>/dev/null || $(MAKE) --no-print-directory system-packages
	touch $@

# robosuite imports OpenCV, whose wheel needs the first two even where nothing is drawn; the others draw.
SYSTEM_PACKAGES := libgl1 libglib2.0-0 libegl1 libegl-mesa0

system-packages:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && apt-get install -y -qq $(SYSTEM_PACKAGES); \
	else \
	  echo "OpenCV cannot be imported; install the Debian packages $(SYSTEM_PACKAGES)" >&2; exit 1; \
	fi

SAMPLE := datasets/libero-10-sample
LIBERO_10 := runs/libero-10-scripted

demo: setup  ## Judge the rollouts that come along, then record some, judge them, ask who was right.
	mkdir -p runs
	$(BIN)/mango-trace evaluate $(SAMPLE) --db runs/sample.duckdb --workers 2
	$(BIN)/mango-trace query agreement --db runs/sample.duckdb
	$(BIN)/mango-trace record libero_10 --task 0,3 --fault none --fault drops_midway@1 --fault stalls@1 \
	  --workers 2 --out runs/demo
	$(BIN)/mango-trace evaluate runs/demo --db runs/demo.duckdb --workers 2
	$(BIN)/mango-trace query localisation --db runs/demo.duckdb

rq2: setup  ## Record 1,000 rollouts or take them, judge them, write the paper's second table and who is wrong.
	$(BIN)/mango-trace datasets build libero-10-scripted --out $(LIBERO_10)
	$(BIN)/mango-trace evaluate $(LIBERO_10) --db runs/rq2.duckdb --workers 2
	mkdir -p runs/rq2
	for query in $(RQ2_QUERIES); do \
	  $(BIN)/mango-trace query $$query --db runs/rq2.duckdb --format csv >runs/rq2/$$query.csv || exit 1; done
	$(BIN)/mango-trace query rq2 --db runs/rq2.duckdb --param sample=paper --format csv >runs/rq2/rq2-sample.csv
	$(BIN)/mango-trace query rq2 --db runs/rq2.duckdb
	$(BIN)/mango-trace query localisation_by_class --db runs/rq2.duckdb
	$(BIN)/mango-trace query localisation_by_position --db runs/rq2.duckdb
	$(BIN)/mango-trace query disagreements --db runs/rq2.duckdb

RQ2_QUERIES := rq2 localisation_distance localisation_by_class localisation_by_position disagreements confusion rates

# Who answers in a study, and how often: make rq1 CONFIG=gemini RUNS=10. Several names are compared.
CONFIG ?= rules
RUNS ?= 10
ON ?= $(if $(wildcard $(LIBERO_10)/dataset.json),$(LIBERO_10),$(SAMPLE))
STUDY = $(BIN)/python -m generator.study
STUDY_OPTIONS = $(addprefix --config ,$(CONFIG)) --runs $(RUNS)

rq1: setup  ## Study the generator: how good is what it writes, against one pass (CONFIG, RUNS, ON).
	$(STUDY) rq1 $(STUDY_OPTIONS) --on $(ON)

rq3: setup  ## Study the generator: what is lost without a module (CONFIG, RUNS, ON).
	$(STUDY) rq3 $(STUDY_OPTIONS) --on $(ON)

rq4: setup  ## Study the generator: how few instructions give the same library (CONFIG, RUNS).
	$(STUDY) rq4 $(STUDY_OPTIONS)
	$(STUDY) rq4 $(STUDY_OPTIONS) --name rq4-all $(SUITES)

SUITES := libero_spatial libero_object libero_goal libero_90 libero_10

test: setup  ## Run the tests, two files at a time.
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow and not packaging"

test-wheel: setup  ## Install the wheel into a clean environment and judge with it.
	$(BIN)/python -m pytest -m packaging

test-slow: setup  ## Run every test, those that take minutes too.
	$(BIN)/python -m pytest

check: setup  ## Lint, types and import contracts.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup  ## Format the code.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup  ## Measure speed, size and memory against LIBERO's own replay; rows go to runs/bench/results.json.
	$(BIN)/mango-trace datasets build libero-10-scripted --share 0.2 --out runs/bench/libero-10
	$(BIN)/python -m recorder.bench run runs/bench

bench-compare:  ## Say which ratios of the last make bench fell against the committed ones.
	$(BIN)/python -m recorder.bench compare runs/bench/results.json

parity: setup  ## Compare every LIBERO predicate with LIBERO's own check on over 200,000 states.
	$(BIN)/mango-trace parity --suite all --workers 2

build: setup  ## Build the wheel.
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:  ## Remove what the targets made.
	rm -rf $(VENV) build dist runs
