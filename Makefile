# Every target does its own set-up: Python 3.11 or newer and make are all that must be there beforehand.
# Dependencies are locked with hashes; a second run of a target installs nothing and needs no network.
#
#   make PYTHON=python3.12 ...    another interpreter for the virtual environment
#   make test TORCH=REQUIREMENT   put this torch into the test environment (a wheel's path, or "torch==2.13.0");
#                                 TORCH=none leaves torch out. Also read from WEIGHBRIDGE_TORCH.

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow lint docs lock clean
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check --no-input
COMPILE = CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe \
	--strip-extras --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options
PYTHON ?= $(firstword $(shell for name in python3 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name; done))
TORCH ?= $(WEIGHBRIDGE_TORCH)
# Which tests and how: make test TESTS=tests/readers
TESTS ?= tests

help:
	@echo "make demo       what Weighbridge does, on three small logs, in under a minute"
	@echo "make test       checks and tests, without the slow ones"
	@echo "make test-slow  the slow tests"
	@echo "make lint       ruff, mypy and import-linter only"
	@echo "make docs       write the generated pages of docs/ and README anew"
	@echo "make lock       choose the newest dependencies and write requirements/*.lock anew"
	@echo "make clean      remove what tests and the demo left; .venv stays"

demo: $(VENV)/.base
	@$(BIN)/weighbridge demo

test: $(VENV)/.torch lint
	@$(BIN)/python -m pytest -n 2 -m "not slow" -rs --cov --cov-report= $(TESTS)
	@$(BIN)/python -m coverage report --format=total | sed 's/.*/coverage & % of lines and branches/'

test-slow: $(VENV)/.torch
	@$(BIN)/python -m pytest -m slow -rs $(TESTS) || { [ $$? = 5 ] && echo "no slow tests under $(TESTS)"; }

lint: $(VENV)/.test
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --check --quiet . && echo "ruff: nothing to say"
	@$(BIN)/mypy
	@found=$$($(BIN)/lint-imports --no-logo) && echo "import-linter: imports run one way" || \
		{ echo "$$found"; exit 1; }

docs: $(VENV)/.test
	@$(BIN)/python tools/generate_docs.py

# Locks are made with the oldest Python that is supported, so that every newer one can install them.
lock: $(VENV)/.tools
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
		{ echo "make lock needs a .venv of Python 3.11: rm -r $(VENV); make lock PYTHON=python3.11" >&2; exit 2; }
	$(COMPILE) --upgrade --output-file requirements/base.lock pyproject.toml
	for name in build test torch tools; do \
		$(COMPILE) --upgrade --output-file requirements/$$name.lock requirements/$$name.in || exit; done

clean:
	rm -rf .coverage .coverage.* htmlcov .mypy_cache .ruff_cache .import_linter_cache .hypothesis demo-out dist build
	find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# --- set-up -------------------------------------------------------------------------------------------------

# A virtual environment knows its own path: moved with its folder, it would run the code of the old folder.
ifneq ($(shell cat $(VENV)/.base 2>/dev/null),$(CURDIR))
$(VENV)/.base: moved
.PHONY: moved
moved:
	@if [ -s $(VENV)/.base ]; then rm -rf $(VENV); fi
endif

$(VENV)/.base: requirements/base.lock requirements/build.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer was not found: install it, or name it: make PYTHON=..." >&2; exit 2; }
	@if ! $(BIN)/python -c pass 2>/dev/null; then \
		echo "Setting up $(VENV) with $$($(PYTHON) --version) (once)"; \
		$(PYTHON) -m venv --clear $(VENV) || \
			{ echo "The venv module does not work; on Debian or Ubuntu: apt-get install python3-venv" >&2; exit 2; }; fi
	@$(PIP) install --require-hashes --requirement requirements/base.lock --requirement requirements/build.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@echo "$(CURDIR)" > $@

$(VENV)/.test: $(VENV)/.base requirements/test.lock
	@echo "Setting up the test tools (once)"
	@$(PIP) install --require-hashes --requirement requirements/test.lock
	@touch $@

ifneq ($(TORCH),)
.PHONY: $(VENV)/.torch
endif

$(VENV)/.torch: $(VENV)/.test requirements/torch.lock tools/take_torch.py
	@$(BIN)/python tools/take_torch.py "$(TORCH)"
	@touch $@

$(VENV)/.tools: $(VENV)/.base requirements/tools.lock
	@$(PIP) install --require-hashes --requirement requirements/tools.lock
	@touch $@
