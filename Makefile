# One door for commands. `make demo` and `make test` each do everything from a fresh clone.
PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
CLANG ?= $(firstword $(shell command -v clang++ clang++-22 clang++-19 clang++-16 clang++-15))

BIN := $(VENV)/bin
CPP := $(shell find cpp -name '*.cpp' -o -name '*.hpp')
# Tools that were installed with pip (cmake, ninja) come first.
export PATH := $(CURDIR)/$(BIN):$(PATH)

# Requirements listed in pyproject.toml: `$(REQUIREMENTS) dependencies plot test` prints them one per line.
REQUIREMENTS := $(BIN)/python -c "import sys, tomllib; p = tomllib.load(open('pyproject.toml', 'rb')); q = p['project']; \
  groups = {'build': p['build-system']['requires'], 'dependencies': q['dependencies'], **q['optional-dependencies']}; \
  print('\n'.join(r for g in sys.argv[1:] for r in groups[g] if not r.startswith('boscage[')))"
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-cpp test-slow wheel test-wheel clang lint format bench docs sanitize sanitize-threads clean

help:  ## List the commands
	@grep -hE '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 18

# What building and running takes; tests and tools come on top.
$(VENV)/.base: pyproject.toml
	@$(PYTHON) -c "import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f'boscage needs Python 3.11 or newer and \
	  $(PYTHON) is {v.major}.{v.minor}; try make PYTHON=python3.12')"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --upgrade pip
	$(REQUIREMENTS) build dependencies plot > $(VENV)/requirements.txt
	$(INSTALL) "cmake>=3.25" ninja -r $(VENV)/requirements.txt
	touch $@

$(VENV)/.deps: $(VENV)/.base
	$(REQUIREMENTS) test dev > $(VENV)/requirements-dev.txt
	$(INSTALL) -r $(VENV)/requirements-dev.txt
	touch $@

$(VENV)/.built: $(VENV)/.base CMakeLists.txt $(CPP)
	$(INSTALL) --no-build-isolation --no-deps --config-settings=build-dir=build/dev \
	  --config-settings=cmake.define.BOSCAGE_TESTS=ON --editable .
	touch $@

$(VENV)/.docs: $(VENV)/.deps
	$(REQUIREMENTS) docs > $(VENV)/requirements-docs.txt
	$(INSTALL) -r $(VENV)/requirements-docs.txt
	touch $@

$(VENV)/.wheel: $(VENV)/.base
	$(REQUIREMENTS) wheel > $(VENV)/requirements-wheel.txt
	$(INSTALL) -r $(VENV)/requirements-wheel.txt
	touch $@

setup: $(VENV)/.deps $(VENV)/.built  ## Make the environment and build the package into it

demo: $(VENV)/.built  ## The main job: compare every family on an embedded data set
	$(BIN)/boscage compare --repeats 2 --out out/compare

test: setup test-cpp  ## All tests but the slow experiments
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow"

test-slow: setup  ## The slow experiments
	$(BIN)/python -m pytest -n $(JOBS) -m slow

test-cpp: $(VENV)/.built  ## The tests of the C++ core alone, linked with the core that the package uses
	cmake --build build/dev --target core_test
	build/dev/core_test

wheel: $(VENV)/.built $(VENV)/.wheel  ## Build the source distribution and the wheels into dist/
	$(BIN)/python packaging/build_wheels.py

test-wheel: wheel  ## Install the wheels into empty environments without a compiler and use them
	$(BIN)/python packaging/try_wheels.py

clang: $(VENV)/.deps  ## The core and its C++ tests compiled with Clang
	@test -n "$(CLANG)" || { echo "no clang++ here; name one: make clang CLANG=clang++-16"; exit 1; }
	cmake -S . -B build/clang -G Ninja -DCMAKE_CXX_COMPILER=$(CLANG) -DBOSCAGE_PYTHON=OFF -DBOSCAGE_TESTS=ON
	cmake --build build/clang --target core_test
	build/clang/core_test

lint: $(VENV)/.deps  ## Style, spelling and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(CPP)
	! grep -rlE '#include *[<"](Python\.h|nanobind/)' cpp --include='*.hpp' --include='*.cpp' | grep -v '^cpp/bind/'
	$(BIN)/codespell $(wildcard src cpp tests benchmarks docs examples packaging *.md *.cff)
	$(BIN)/mypy
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

format: $(VENV)/.deps  ## Put the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

bench: setup  ## Measure against scikit-learn; ratios in one run
	$(BIN)/python benchmarks/run.py

docs: setup $(VENV)/.docs  ## Build the documentation into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

sanitize: $(VENV)/.deps  ## The C++ tests under address and undefined-behaviour sanitizers
	cmake -S . -B build/sanitize -G Ninja -DBOSCAGE_PYTHON=OFF -DBOSCAGE_TESTS=ON -DBOSCAGE_SANITIZE=address
	cmake --build build/sanitize --target core_test
	build/sanitize/core_test
	@echo "planted bug: the sanitizer must stop this run"
	! build/sanitize/core_test --plant-bug > build/sanitize/planted.log 2>&1
	grep -q "AddressSanitizer" build/sanitize/planted.log

sanitize-threads: $(VENV)/.deps  ## The C++ tests under the thread sanitizer
	cmake -S . -B build/sanitize-threads -G Ninja -DBOSCAGE_PYTHON=OFF -DBOSCAGE_TESTS=ON -DBOSCAGE_SANITIZE=thread
	cmake --build build/sanitize-threads --target core_test
	build/sanitize-threads/core_test
	@echo "planted race: the sanitizer must stop this run"
	! build/sanitize-threads/core_test --plant-race > build/sanitize-threads/planted.log 2>&1
	grep -q "ThreadSanitizer: data race" build/sanitize-threads/planted.log

clean:  ## Remove everything that was built, the environment included
	rm -rf build dist out $(VENV) docs/_build docs/api/generated docs/auto_examples
