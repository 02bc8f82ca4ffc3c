# All commands of the project. `make demo` and `make test` each do everything from a fresh clone.
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
.PHONY: help setup demo test test-cpp test-slow wheel test-wheel clang clang-python lint format bench docs sanitize sanitize-python \
  sanitize-threads sanitize-memory planted fuzz free-threaded coverage clean

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

clang-python: $(VENV)/.built  ## The Python module compiled with Clang, laid over the environment (benchmarks/bench_compilers.py)
	cmake -S . -B build/clang-python -G Ninja -DCMAKE_CXX_COMPILER=$(CLANG) -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python
	cmake --build build/clang-python
	$(BIN)/python packaging/overlay.py build/clang-python

lint: $(VENV)/.deps  ## Style, spelling and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(CPP)
	! grep -rlE '#include *[<"](Python\.h|nanobind/)' cpp --include='*.hpp' --include='*.cpp' | grep -v '^cpp/bind/'
	$(BIN)/python packaging/check_layers.py
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

# Python under the sanitizers: they are loaded first, and an interpreter in build/sanitize-python sees that build of the
# module. CPython frees not all of its memory at exit. An error ends the process, so it cannot be missed.
SANITIZED := ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=print_stacktrace=1 \
  LD_PRELOAD="$(shell $(CXX) -print-file-name=libasan.so) $(shell $(CXX) -print-file-name=libstdc++.so)"
# Left out: what runs no code of the core (documentation, web pages, pictures, data sets, tables of results) or runs the
# same code again from another process (command line, Dask); and bounds on the memory of the process, which the
# sanitizer multiplies.
UNSANITIZED := docs examples benchmark_page html html_browser plot_views datasets datasets_optimal experiments compare \
  theory_report whole_file cli walk dask package
UNSANITIZED_CASES := test_batches.py::test_memory_does_not_grow_with_rows \
  test_optimal_limits.py::test_memory_limit_holds_for_the_process

build/sanitize-python/env/bin/python: $(VENV)/.deps CMakeLists.txt packaging/overlay.py $(CPP) $(wildcard src/boscage/*.py)
	cmake -S . -B build/sanitize-python -G Ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DBOSCAGE_SANITIZE=address
	cmake --build build/sanitize-python
	$(BIN)/python packaging/overlay.py build/sanitize-python
	touch $@

sanitize-python: build/sanitize-python/env/bin/python  ## The Python tests under address and undefined-behaviour sanitizers
	$(SANITIZED) $< -m pytest -q -n $(JOBS) --dist worksteal -m "not slow" -p no:cacheprovider --timeout 900 \
	  $(UNSANITIZED:%=--ignore tests/test_%.py) $(UNSANITIZED_CASES:%=--deselect tests/%)

# Python without the global lock (3.13t, 3.14t) has an environment of its own. Packages of the tests that have no wheel for
# it are left out, and the tests that need them are skipped. FREE_TESTS names some of the tests.
PYTHON_FT ?= $(firstword $(shell command -v python3.14t python3.13t))
FREE := build/free-threaded/env/bin/python

build/free-threaded/.deps: pyproject.toml packaging/free_threaded.py
	@test -n "$(PYTHON_FT)" || { echo "no free-threaded Python here; name one: make $(MAKECMDGOALS) PYTHON_FT=python3.14t"; exit 1; }
	test -x $(FREE) || $(PYTHON_FT) -m venv build/free-threaded/env
	$(FREE) packaging/free_threaded.py
	touch $@

build/free-threaded/.built: build/free-threaded/.deps $(VENV)/.built
	$(FREE) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps \
	  --config-settings=build-dir=build/free-threaded/module \
	  --config-settings=cmake.define.BOSCAGE_CORE=$(CURDIR)/build/dev/libboscage_core.a --editable .
	touch $@

free-threaded: build/free-threaded/.built  ## The Python tests without the global lock: PYTHON_FT=python3.14t
	$(FREE) -m pytest -q -n $(JOBS) --dist worksteal -m "not slow" -p no:cacheprovider --timeout 900 \
	  $(UNSANITIZED:%=--ignore tests/test_%.py) $(FREE_TESTS)

# With Clang libFuzzer runs the targets, otherwise cpp/fuzz/driver.cpp does. New inputs go to build/fuzz/corpus.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= axis batches joint mixed numbers oblique online optimal predict stochastic
fuzz: $(VENV)/.deps build/sanitize-python/env/bin/python  ## Fuzz every growth, prediction and the model loader, FUZZ_SECONDS each
	cmake -S . -B build/fuzz -G Ninja $(if $(CLANG),-DCMAKE_CXX_COMPILER=$(CLANG)) -DBOSCAGE_PYTHON=OFF -DBOSCAGE_FUZZ=ON \
	  -DBOSCAGE_SANITIZE=address
	cmake --build build/fuzz --target fuzz
	for target in $(FUZZ_TARGETS); do \
	  mkdir -p build/fuzz/corpus/$$target && echo "fuzzing $$target" && \
	  build/fuzz/fuzz_$$target -max_total_time=$(FUZZ_SECONDS) -max_len=2000 -timeout=60 -print_final_stats=1 -verbosity=0 \
	    -artifact_prefix=build/fuzz/$$target- build/fuzz/corpus/$$target cpp/fuzz/corpus/$$target || exit 1; \
	done
	$(SANITIZED) build/sanitize-python/env/bin/python tests/fuzz_files.py --seconds $(FUZZ_SECONDS)

# One test forks and starts threads in the child, which is what it tests.
sanitize-threads: $(VENV)/.deps  ## The C++ tests under the thread sanitizer
	cmake -S . -B build/sanitize-threads -G Ninja -DBOSCAGE_PYTHON=OFF -DBOSCAGE_TESTS=ON -DBOSCAGE_SANITIZE=thread
	cmake --build build/sanitize-threads --target core_test
	TSAN_OPTIONS=die_after_fork=0 build/sanitize-threads/core_test
	@echo "planted race: the sanitizer must stop this run"
	! build/sanitize-threads/core_test --plant-race > build/sanitize-threads/planted.log 2>&1
	grep -q "ThreadSanitizer: data race" build/sanitize-threads/planted.log

# Only Clang watches for memory that is read before it is written. The fuzz targets use no part of libstdc++ that was
# compiled without it; libFuzzer itself does where it is given a folder, so it gets files.
sanitize-memory: $(VENV)/.deps  ## The fuzz corpus under the memory sanitizer (Clang)
	@test -n "$(CLANG)" || { echo "no clang++ here; name one: make sanitize-memory CLANG=clang++-16"; exit 1; }
	cmake -S . -B build/sanitize-memory -G Ninja -DCMAKE_CXX_COMPILER=$(CLANG) -DBOSCAGE_PYTHON=OFF -DBOSCAGE_FUZZ=ON \
	  -DBOSCAGE_SANITIZE=memory
	cmake --build build/sanitize-memory --target fuzz
	for target in $(FUZZ_TARGETS); do \
	  build/sanitize-memory/fuzz_$$target cpp/fuzz/corpus/$$target/* > build/sanitize-memory/$$target.log 2>&1 || \
	    { tail -40 build/sanitize-memory/$$target.log; exit 1; }; \
	  echo "$$target: no uninitialised memory"; \
	done

planted: fuzz sanitize-threads sanitize-memory  ## A planted bug of each class must be found
	$(BIN)/python tests/planted.py

build/coverage/env/bin/python: $(VENV)/.deps CMakeLists.txt packaging/overlay.py $(CPP)
	cmake -S . -B build/coverage -G Ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DBOSCAGE_SANITIZE=coverage \
	  -DBOSCAGE_TESTS=ON
	cmake --build build/coverage --target all core_test
	$(BIN)/python packaging/overlay.py build/coverage
	touch $@

coverage: build/coverage/env/bin/python  ## Lines and branches of C++ that the tests run
	find build/coverage -name '*.gcda' -delete
	build/coverage/core_test
	$< -m pytest -q -n $(JOBS) --dist worksteal -m "not slow" -p no:cacheprovider --timeout 900 \
	  $(UNSANITIZED:%=--ignore tests/test_%.py)
	$(BIN)/python packaging/covered.py build/coverage --missing

clean:  ## Remove everything that was built, the environment included
	rm -rf build dist out $(VENV) docs/_build docs/api/generated docs/auto_examples
