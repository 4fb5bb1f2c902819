# Each target does all of its own set-up on a machine with Python 3.11 or newer and pip: it builds .venv once, and again
# when pyproject.toml or constraints.txt has changed.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# Two OpenMP threads on a busy machine can wait for each other for minutes; one is as fast for a small model.
export OMP_NUM_THREADS ?= 1

PYTEST_ARGS ?= -n 2 --dist loadfile
BENCH_ARGS  ?= --out bench-results

.PHONY: help install demo test lint format bench clean

help:
	@echo "make demo    extract typed records from examples/demo with a small real model"
	@echo "make test    the test suite          (PYTEST_ARGS=... to choose)"
	@echo "make lint    ruff, mypy --strict"
	@echo "make bench   compare with other ways to constrain a model (BENCH_ARGS=... to choose)"
	@echo "make clean   remove .venv and caches"

# The stamp is written last, so an interrupted install is done again. Torch comes first and by its exact version: a bare
# range would draw in a build with several gigabytes of accelerator libraries.
$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (a few minutes the first time)"
	@$(PIP) "$$(grep -E '^torch==' constraints.txt)"
	@$(PIP) -e ".[dev]"
	@touch $@

install: $(STAMP)

demo: $(STAMP)
	@$(BIN)/python examples/demo.py

test: $(STAMP)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The peers are optional: what cannot be installed on this machine is left out of the comparison, and the report says so.
$(VENV)/.bench-installed: $(STAMP)
	@for p in matplotlib xgrammar llguidance outlines lm-format-enforcer; do $(PIP) $$p || echo "$$p cannot be installed here; left out" >&2; done
	@touch $@

bench: $(VENV)/.bench-installed
	$(BIN)/domino bench $(BENCH_ARGS)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis bench-results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
