# make demo   policies with planted flaws through small experiments, and what the instrument says about each
# make test   all tests; they start many processes, so compiled modules are kept (__pycache__) whatever Python is told
# make lint   ruff, mypy, import-linter
# make bench  speed and memory, as ratios measured in one run; the slow proofs
# make fuzz   damaged files and hostile peers against everything that reads, for an hour; always the same ones: CASES=12
# make kills  long commands killed at random, 200 times together or for an hour, and whether the same command then
#             ends as if there had been none
# make lock   requirements.lock anew: the newest version of everything that pyproject.toml allows
PYTHON ?= $(shell sh scripts/choose-python.sh)
BIN := .venv/bin
JOBS ?= 4

SECONDS ?= 3600
CASES ?=

.PHONY: setup prepared demo test lint bench fuzz kills lock clean

# One at a time; what is missing, broken or changed is made anew, and what is there is only looked at.
setup:
	@mkdir -p .venv
	@$(PYTHON) scripts/alone.py .venv/.lock $(MAKE) --no-print-directory prepared

prepared:
	@sh scripts/ensure-packages.sh $(BIN)
	@$(MAKE) --no-print-directory .venv/.ready
	@sh scripts/ensure-models.sh $(BIN)

.venv/.ready: pyproject.toml requirements.lock scripts/ensure-gl.sh
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "Assay needs Python 3.11, 3.12 or 3.13: make PYTHON=/path/to/python3.11 setup"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[dev]'
	@sh scripts/ensure-gl.sh $(BIN)
	@touch $@

demo: setup
	$(BIN)/assay demo --out out/demo

test: setup
	@sh scripts/ensure-chromium.sh
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

lock:
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	UV_CUSTOM_COMPILE_COMMAND='make lock' $(BIN)/uv pip compile pyproject.toml --extra dev --upgrade --quiet \
	  --universal --python-version 3.11 --no-annotate --no-emit-index-url --no-emit-find-links \
	  --output-file requirements.lock

clean:
	rm -rf .venv out .pytest_cache .mypy_cache .ruff_cache .hypothesis
