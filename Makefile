# What a developer types is what CI runs. Every target sets up what it needs: a virtual environment in .venv with
# exactly the packages of requirements/ (by hash), and on Debian as root the system packages of deploy/system-packages.

PYTHON ?= python3
PYTEST ?= -n 4 --dist loadgroup
JSON ?=

# Where Python may not keep what it has compiled, a site takes half as long again to start; tests start hundreds.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
HASHED := install --require-hashes --no-deps --only-binary :all:
UV := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
      --no-emit-index-url --no-header --no-annotate

.DEFAULT_GOAL := help
.PHONY: help demo test test-iscsi-all check bench bench-chunking bench-emulator bench-iscsi bench-pipeline bench-viewers bench-wan \
        compiled screenshots wheel lock clean system-bench system-demo system-test system-wan

help:  ## show this
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

demo: $(VENV)/.runtime system-demo  ## replicate volumes through two sites on this machine, twice, verified (ARGS="--store disk")
	@$(BIN)/isthmus demo $(ARGS)

test:  ## make check, then all tests (PYTEST="tests/unit -k name" runs some)
	@$(MAKE) --no-print-directory --jobs=2 check system-test compiled
	@$(BIN)/python -m pytest $(PYTEST)

# Otherwise each worker would compile the tests by itself. What is wrong with a test the run itself tells.
compiled: $(VENV)/.compiled
	@:

$(VENV)/.compiled: $(VENV)/.develop $(shell find bench dedupstore proxy tests -name '*.py')
	@$(BIN)/python -m pytest --collect-only --quiet $(PYTEST) >/dev/null 2>&1 || true
	@touch $@

test-iscsi-all: $(VENV)/.develop system-test  ## every test of iscsi-test-cu, directly and through the pair: some minutes
	@ISTHMUS_ISCSI_ALL=1 $(BIN)/python -m pytest tests/integration/iscsi/test_conformance.py

check: $(VENV)/.develop  ## lint, format, types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(VENV)/.runtime system-bench  ## the field's own tests, replayed small: bench/RESULTS.md (25 minutes, as root; data in bench-results; ARGS="--repeat 3")
	@$(BIN)/isthmus bench run all --out bench-results $(ARGS); status=$$?; \
	    $(BIN)/isthmus bench report bench-results --markdown bench/RESULTS.md --html bench-results/report.html && exit $$status

bench-pipeline: $(VENV)/.runtime  ## speed, reduction, latency and memory of the pair (JSON=FILE also writes the data)
	@$(BIN)/python -m bench.pipeline $(if $(JSON),--json $(JSON)) $(ARGS)

bench-viewers: $(VENV)/.runtime  ## what ten open pages cost a pair that replicates (JSON=FILE, ARGS="--rounds 4")
	@$(BIN)/python -m bench.viewers $(if $(JSON),--json $(JSON)) $(ARGS)

bench-wan: $(VENV)/.runtime system-wan  ## the pair over emulated lines, beside iperf3 (JSON=FILE, ARGS="--only fill warm --scale 0.2")
	@$(BIN)/python -m bench.overwan $(if $(JSON),--json $(JSON)) $(ARGS)

bench-iscsi: $(VENV)/.runtime system-test  ## what understanding iSCSI costs and brings (JSON=FILE, ARGS="--only throughput --scale 0.2")
	@$(BIN)/python -m bench.overiscsi $(if $(JSON),--json $(JSON)) $(ARGS)

bench-chunking: $(VENV)/.runtime  ## what chunk sizes cost and find (JSON=FILE also writes the data)
	@$(BIN)/python -m bench.chunking $(if $(JSON),--json $(JSON))

bench-emulator: $(VENV)/.runtime system-wan  ## how true emulated lines are on this machine, as root (JSON=FILE writes the data instead)
	@$(BIN)/isthmus wan test $(if $(JSON),--json >$(JSON)) $(ARGS)

screenshots: $(VENV)/.develop system-test system-wan  ## the pictures of the page in the README, taken anew under load; as root
	@$(BIN)/python -m tests.browser.screenshots $(ARGS)

wheel: $(VENV)/.develop  ## wheel and sdist in dist/
	@rm -rf dist && $(BIN)/python -m build --no-isolation --outdir dist .

lock: $(BIN)/python  ## pin the newest versions that pyproject.toml allows (UPGRADE= keeps those that are pinned)
	@$(PIP) $(HASHED) -r requirements/lock.txt
	@$(UV) $(UPGRADE) pyproject.toml --extra bench -o requirements/runtime.txt
	@$(UV) $(UPGRADE) pyproject.toml --no-emit-package numpy -o requirements/site.txt \
	    -c requirements/runtime.txt
	@$(UV) $(UPGRADE) --group build -o requirements/build.txt
	@$(UV) $(UPGRADE) pyproject.toml --extra bench --group test --group check --group build -o requirements/develop.txt \
	    -c requirements/runtime.txt -c requirements/build.txt
	@$(UV) $(UPGRADE) --group image -o requirements/image.txt
	@$(UV) $(UPGRADE) --group lock -o requirements/lock.txt
UPGRADE ?= --upgrade

clean:  ## remove what these targets made
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

system-bench:
	@deploy/system-packages bench

system-demo:
	@deploy/system-packages demo

system-test:
	@deploy/system-packages test

system-wan:
	@deploy/system-packages wan

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Isthmus needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); deploy/system-packages venv && $(PYTHON) -m venv $(VENV); }

$(VENV)/.runtime: requirements/runtime.txt requirements/build.txt pyproject.toml | $(BIN)/python
	@echo "installing the packages of requirements/runtime.txt into $(VENV)"
	@$(PIP) $(HASHED) -r requirements/runtime.txt -r requirements/build.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.develop: requirements/develop.txt $(VENV)/.runtime
	@echo "installing the packages of requirements/develop.txt into $(VENV)"
	@$(PIP) $(HASHED) -r requirements/develop.txt
	@touch $@
