# The workshop's door. Everything runs in .venv, which `setup` makes from the locked versions of constraints.txt.
PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
STAMP := $(VENV)/.stamp
CODE := gateway agent memory thread_episodic promt protocol
CHECKED := $(CODE) tests benchmarks examples

.PHONY: help setup demo test campaign lint bench bench-quick schemas format lock clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/'

$(STAMP): pyproject.toml constraints.txt requirements-dev.txt requirements-sdk1.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@echo "setting up $(VENV) (once) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements-dev.txt -e .
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(VENV)/sdk1 -r requirements-sdk1.txt
	@touch $(STAMP)

setup: $(STAMP) ## make .venv with the locked dependencies and the pioneer command

demo: setup ## play a bundled conversation of several days through a spawned gateway
	@$(BIN)/pioneer demo

test: setup ## run every test, with branch coverage
	@$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term --cov-fail-under=90 -q

campaign: setup ## the reliability tests at full size: every fault of every kind, 20,000 power cuts, 1,000 kills of writers and 300 of workers over 5,000 jobs
	@PIONEER_FAULT_STRIDE=1 PIONEER_CUTS=20000 PIONEER_KILLS=1000 PIONEER_JOB_KILLS=300 PIONEER_JOBS=5000 $(BIN)/python -m pytest tests/faults -n 2 --dist worksteal -q -rP

lint: setup ## format, lint, types, import rules, generated files
	@$(BIN)/ruff format --check $(CHECKED)
	@$(BIN)/ruff check $(CHECKED)
	@for platform in Linux Darwin Windows; do echo "types on $$platform"; $(BIN)/basedpyright --pythonplatform $$platform || exit 1; done
	@$(BIN)/lint-imports
	@$(BIN)/pioneer schemas --check

format: setup ## format the code and mend what can be mended by itself
	@$(BIN)/ruff check --fix --quiet $(CHECKED) || true
	@$(BIN)/ruff format $(CHECKED)

schemas: setup ## generate schemas/ from protocol/
	@$(BIN)/pioneer schemas

bench: setup ## every promised figure of speed and size beside its floor, on homes of up to a million chunks (long)
	@$(BIN)/python -m benchmarks speed

bench-quick: setup ## the same on small homes, in three minutes
	@$(BIN)/python -m benchmarks speed --quick

lock: setup ## renew constraints.txt from pyproject.toml (needs uv)
	uv pip compile --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-annotate --no-header pyproject.toml requirements-dev.txt -o constraints.txt

clean: ## remove what setup and the tests made
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .coverage* htmlcov
