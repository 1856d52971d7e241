# The workshop's door. Everything runs in .venv, which `setup` makes from the locked versions of constraints.txt.
PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PRODUCT := $(VENV)/.product
STAMP := $(VENV)/.stamp
TYPESCRIPT := clients/typescript
CODE := gateway agent memory thread_episodic knowledge retrieval promt protocol
CHECKED := $(CODE) tests benchmarks examples clients
# What can be of another type on another system: the modules that import one of Python's that differs between systems.
SYSTEMS := asyncio|ctypes|errno|locale|mmap|multiprocessing|os|pathlib|select|shutil|signal|socket|ssl|stat|subprocess|sys|tempfile|time|urllib|zipfile
DIFFERING = $(shell grep -rlE --include='*.py' '^ *(import|from) ($(SYSTEMS))[. ,]|^ *import ($(SYSTEMS))$$' $(CODE) clients/python)

.PHONY: help setup programs demo test check journeys campaign lint bench bench-quick schemas clients format picture page-pictures lock clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/'

$(PRODUCT): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@echo "setting up the gateway in $(VENV) (once): some 80 packages, 400 MB on disk; a dot is a package ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@{ $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e . 2>&1 || echo PIP-FAILED; } \
	| tee $(VENV)/pip.log | awk '/^Collecting/ { printf "."; fflush() } /^PIP-FAILED/ { failed = 1 } END { print ""; exit failed }' \
	|| { tail -n 30 $(VENV)/pip.log; exit 1; }
	@$(BIN)/python -m compileall -q $(CODE) # else each start compiles 400 modules where PYTHONDONTWRITEBYTECODE is set
	@touch $(PRODUCT)

$(STAMP): $(PRODUCT) requirements-dev.txt requirements-sdk1.txt
	@echo "setting up the workshop in $(VENV) (once): what tests, lint and types need, 430 MB more ..."
	@$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -r requirements-dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(VENV)/sdk1 -r requirements-sdk1.txt
	@touch $(STAMP)

# The compiler of the TypeScript client is no Python package. Without npm, or without its registry, what needs it is skipped.
$(TYPESCRIPT)/node_modules/.stamp: $(TYPESCRIPT)/package-lock.json
	@if command -v npm > /dev/null && npm ci --prefix $(TYPESCRIPT) --ignore-scripts --no-audit --no-fund --fetch-retries=0 --loglevel=error; \
	then touch $@; else echo "the TypeScript compiler is not here: npm did not get it; tests that need it are skipped"; fi

setup: $(STAMP) $(TYPESCRIPT)/node_modules/.stamp ## make .venv with the pioneer command and what the tests need, in locked versions

programs: setup ## get Claude Code and Codex, for the test that runs them through the chat proxy (npm, 640 MB)
	npm install --prefix $(VENV)/programs --ignore-scripts --no-audit --no-fund --loglevel=error \
		@anthropic-ai/claude-code@2.1.197 @openai/codex@0.169.0

demo: $(PRODUCT) ## play a bundled conversation of several days through a spawned gateway
	@$(BIN)/pioneer demo

# The loops of tests/conftest.py: every test is in at least one. COVER is what `check` asks of the first of them. Of the second, only the
# processes of followed tests are counted then: to count all of it would double its time, and add little.
PYTEST := $(BIN)/python -m pytest -n 3 --dist worksteal -q
COVERAGE := --cov --cov-report=
SIZE ?= full

test: setup ## what a change may have broken: units, contracts, a journey through every door and method (2 minutes)
	@$(PYTEST) --loop test $(COVER)

check: COVER := $(COVERAGE)
check: lint test journeys ## all that holds before a change is merged: lint, types, every test but campaigns, coverage (10 minutes)
	@$(BIN)/coverage combine --append --quiet
	@$(BIN)/coverage report --fail-under=90

journeys: setup
	@$(PYTEST) --loop check $(if $(COVER),--follow)

campaign: setup ## kills, power cuts, faults of the disk, floods; SIZE=full before a release (an hour), ci, or small
	@PIONEER_SIZE=$(SIZE) $(PYTEST) --loop campaign -rP

lint: setup ## format, lint, types, import rules, generated files
	@$(BIN)/ruff format --check $(CHECKED)
	@$(BIN)/ruff check $(CHECKED)
	@if test -e $(TYPESCRIPT)/node_modules/.stamp; then echo "types of TypeScript"; npm run --silent --prefix $(TYPESCRIPT) check; fi
	@echo "types of all, and on Darwin and Windows of what differs; import rules, generated files"
	@printf '$(BIN)/%s\n' basedpyright 'basedpyright --pythonplatform Darwin $(DIFFERING)' \
	'basedpyright --pythonplatform Windows $(DIFFERING)' \
	lint-imports 'pioneer schemas --check' 'python clients/copy_protocol.py --check' 'python tests/stage/house_tree.py' \
	| xargs -P 2 -L 1 env

format: setup ## format the code and mend what can be mended by itself
	@$(BIN)/ruff check --fix --quiet $(CHECKED) || true
	@$(BIN)/ruff format $(CHECKED)

schemas: setup ## generate schemas/, tables of docs/ and the types of clients/typescript from the code
	@$(BIN)/pioneer schemas
	@$(BIN)/python tests/stage/house_tree.py --write

clients: setup ## copy the messages of protocol/ into clients/python
	@$(BIN)/python clients/copy_protocol.py

bench: setup ## every promised figure of speed and size beside its floor, on homes of up to a million chunks (long)
	@$(BIN)/python -m benchmarks speed

bench-quick: setup ## the same on small homes, in three minutes
	@$(BIN)/python -m benchmarks speed --quick

picture: $(PRODUCT) ## make the README's picture of the demo from what the demo shows
	@$(BIN)/pioneer demo --svg docs/demo.svg > /dev/null

page-pictures: setup ## make the pictures of docs/inspect.md from the demo's home (needs a Chromium)
	@$(BIN)/python tests/stage/page_pictures.py docs

lock: setup ## renew constraints.txt from pyproject.toml (needs uv)
	uv pip compile --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-annotate --no-header pyproject.toml requirements-dev.txt -o constraints.txt

clean: ## remove what setup and the tests made
	rm -rf $(VENV) $(TYPESCRIPT)/node_modules $(TYPESCRIPT)/dist .pytest_cache .ruff_cache .hypothesis .coverage* htmlcov
