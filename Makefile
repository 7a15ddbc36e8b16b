# make demo   policies with planted flaws through small suites, and what the instrument says about each
# make test   all tests
# make lint   ruff, mypy, import-linter
# make bench  speed and memory, as ratios measured in one run; the slow proofs
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
JOBS ?= 2

.PHONY: setup demo test lint bench clean

setup: .venv/.ready

.venv/.ready: pyproject.toml scripts/ensure-gl.sh
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Assay needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 setup"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@sh scripts/ensure-gl.sh $(BIN)
	@$(BIN)/assay words setup
	@touch $@

demo: setup
	$(BIN)/assay demo --out out/demo

test: setup
	@sh scripts/ensure-chromium.sh
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m bench

clean:
	rm -rf .venv out .pytest_cache .mypy_cache .ruff_cache .hypothesis
