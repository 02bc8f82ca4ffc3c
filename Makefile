# One door for commands. `make demo` and `make test` each do everything from a fresh clone.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CPP := $(shell find cpp -name '*.cpp' -o -name '*.hpp') CMakeLists.txt
JOBS ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-cpp test-slow lint format bench docs sanitize clean

help:  ## List the commands
	@grep -hE '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 14

$(VENV)/.deps: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "scikit-build-core>=1.0,<2" "nanobind>=3.1,<4" "cmake>=3.25" ninja
	$(BIN)/python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; o = p['optional-dependencies']; \
	  print('\n'.join(r for r in p['dependencies'] + o['plot'] + o['test'] + o['dev'] if not r.startswith('boscage')))" > $(VENV)/requirements.txt
	$(BIN)/python -m pip install --quiet -r $(VENV)/requirements.txt
	touch $@

$(VENV)/.built: $(VENV)/.deps $(CPP)
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --editable .
	touch $@

setup: $(VENV)/.built  ## Make the environment and build the package into it

demo: setup  ## The main job: every family on an embedded data set
	$(BIN)/boscage compare --out out/compare

test: setup test-cpp  ## All tests but the slow experiments
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow"

test-slow: setup  ## The slow experiments
	$(BIN)/python -m pytest -n $(JOBS) -m slow

test-cpp: $(VENV)/.deps  ## The tests of the C++ core alone
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B build/cpp -G Ninja -DBOSCAGE_PYTHON=OFF -DBOSCAGE_TESTS=ON > build-cpp.log 2>&1 || (cat build-cpp.log; rm -f build-cpp.log; exit 1)
	rm -f build-cpp.log
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/cpp
	build/cpp/core_test

lint: $(VENV)/.deps  ## Style, spelling and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $$(find cpp -name '*.cpp' -o -name '*.hpp')
	! grep -rlE '#include *[<"](Python\.h|nanobind/)' cpp --include='*.hpp' --include='*.cpp' | grep -v '^cpp/bind/'
	$(BIN)/codespell src cpp tests benchmarks docs *.md
	$(BIN)/mypy

format:  $(VENV)/.deps  ## Put the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $$(find cpp -name '*.cpp' -o -name '*.hpp')

bench: setup  ## Measure against the peers; ratios in one run
	$(BIN)/python -m pip install --quiet "$$($(BIN)/python -c "print('psutil')")"
	$(BIN)/python benchmarks/run.py

docs: setup  ## Build the documentation into docs/_build
	$(BIN)/python -m pip install --quiet "sphinx>=8" "pydata-sphinx-theme>=0.16" "sphinx-gallery>=0.18" "numpydoc>=1.8"
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

sanitize: $(VENV)/.deps  ## The C++ tests under address and undefined-behaviour sanitizers
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B build/sanitize -G Ninja -DBOSCAGE_PYTHON=OFF -DBOSCAGE_TESTS=ON -DBOSCAGE_SANITIZE=ON
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/sanitize
	build/sanitize/core_test
	@echo "planted bug: the sanitizer must stop this run"
	! build/sanitize/core_test --plant-bug > build/sanitize/planted.log 2>&1
	grep -q "AddressSanitizer" build/sanitize/planted.log

clean:  ## Remove what was built
	rm -rf build $(VENV) out
