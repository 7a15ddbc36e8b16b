# make demo   run policies with planted flaws through small experiments and report the flaws that are found
# make test   all tests; compiled modules are kept (__pycache__), because the tests start many processes
# make lint   ruff, mypy, import-linter
# make bench  speed and memory, as ratios measured in one run; the slow proofs
# make fuzz   damaged files and hostile peers against everything that reads, for an hour; always the same ones: CASES=12
# make kills  kill long commands at random, and check that the same command then ends as if it had not been killed
# make docs   build the documentation site: out/site/index.html
# make wheel  build the wheel and use it in clean environments of Python 3.12 and 3.13, where they are installed
# make lock   write requirements.lock with the newest versions that pyproject.toml allows
PYTHON ?= $(shell for python in /usr/bin/python3.11 python3.11 python3.12 python3.13 python3; do \
  $$python -c 'import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null \
  && echo $$python && break; done)
BIN := .venv/bin
JOBS ?= 4

SECONDS ?= 3600
CASES ?=

.PHONY: setup demo test lint bench fuzz kills docs wheel lock clean

setup: .venv/.ready

.venv/.ready: pyproject.toml requirements.lock
	@test -n "$(PYTHON)" || { echo "Assay needs Python 3.11, 3.12 or 3.13: make PYTHON=/path/to/python3.11 setup"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[dev]'
	sh scripts/ensure-system.sh $(BIN) gl
	$(BIN)/assay words setup
	@touch $@

demo: setup
	$(BIN)/assay demo --out out/demo

test: setup
	@sh scripts/ensure-system.sh $(BIN) chromium
	@$(BIN)/python tests/peer_environments.py
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest --jobs $(JOBS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m bench

fuzz: setup
	$(BIN)/python -m fuzz --seconds $(SECONDS) $(if $(CASES),--cases $(CASES)) --out out/fuzz.json

kills: setup
	$(BIN)/python -m bench.kills

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

wheel: setup
	@sh scripts/check-wheel.sh $(BIN)

lock:
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	UV_CUSTOM_COMPILE_COMMAND='make lock' $(BIN)/uv pip compile pyproject.toml --extra dev --upgrade --quiet \
	  --universal --python-version 3.11 --no-annotate --no-emit-index-url --no-emit-find-links \
	  --output-file requirements.lock

clean:
	rm -rf .venv out .pytest_cache .mypy_cache .ruff_cache .hypothesis
