# `make demo` and `make test` are all that a new machine with Python (3.11 or later) and make needs:
# each makes .venv by itself, installs only what it needs, and runs. `make` lists all rules.

VENV := .venv
PY := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)/python
# Rows of arithmetic are compared, and tests run side by side, on one thread each.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
WORKERS ?= 2
PYTEST = $(ONE_THREAD) $(PY) -m pytest -q
SHARED = $(PYTEST) -n $(WORKERS) --dist worksteal
SEED ?= 1

.PHONY: $(shell sed -n 's/^\([a-z][a-z-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## list the rules
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-22s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# One stamp for each file of requirements: an environment is installed into when it lacks it, or it changed.
$(VENV)/.installed-%: requirements/%.txt pyproject.toml
	@.ci/venv $(VENV) any $(HOW) -e . -r $<
	@touch $@
$(VENV)/.installed-mpi: pyproject.toml
	@.ci/venv $(VENV) any -e ".[mpi]"
	@touch $@
.PRECIOUS: $(VENV)/.installed-%
# Python compiles what these tests import; pip would compile all that it installs before the first of them runs.
$(VENV)/.installed-test-core: HOW := --no-compile
# Weights of a real model, and what the benchmarks plan and load, alone: what these distributions ask for is neither
# needed nor small.
$(VENV)/.weights: fixtures/models/weights.txt
$(VENV)/.bench-libraries: benchmarks/libraries.txt
$(VENV)/.weights $(VENV)/.bench-libraries:
	@.ci/venv $(VENV) any --no-deps -r $<
	@touch $@
TESTED := $(VENV)/.installed-test $(VENV)/.weights

demo: $(VENV)/.installed-demo $(VENV)/.weights ## pack a language model, load it under another Python (two minutes)
	@$(ONE_THREAD) $(PY) fixtures/demo/minilm.py
demo-hooks: $(VENV)/.installed-demo ## train a small network with its hooks in sight
	@$(ONE_THREAD) $(PY) fixtures/demo/train.py

test: $(TESTED) ## run the tests, README and docstring examples among them
	@$(SHARED) $(ARGS)
CORE := answers autograd core data distributed files hooks nn optim rules
test-core: $(VENV)/.installed-test-core ## the tests of kellet alone: little to install
	@$(PYTEST) $(CORE:%=tests/%) $(ARGS)
test-long: $(TESTED) ## the tests that take many seconds each: large inputs, and counts that are figures
	@$(SHARED) -m long $(ARGS)
test-mpi: $(VENV)/.installed-test $(VENV)/.installed-mpi ## the tests of several processes, under mpiexec
	@$(PYTEST) -m mpi --needs mpi4py tests/mpi $(ARGS)
# In a folder of its own: others would take its folders, which have no locks, for left ones.
windows-view: $(TESTED) ## the tests in VIEWED=tests where our modules see what Windows has
	@$(PY) -m tests.windows_view
	@place="$$(mktemp -d)" && trap 'rm -rf "$$place"' EXIT && TMPDIR="$$place" KELLET_VIEW=windows $(SHARED) \
		$(or $(VIEWED),tests) $(ARGS)

lint: $(VENV)/.installed-dev ## ruff: rules and format
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
types: $(VENV)/.installed-dev $(VENV)/.installed-test ## mypy --strict; ten mistakes that mypy and pyright find
	@$(PY) -m mypy
	@$(PY) -m tests.typing
files: $(VENV)/.installed-dev ## workflows, forms, citation and hooks, each by its own tool
	@.ci/files
docs: $(VENV)/.installed-docs ## build the documentation into docs/_build, warnings as errors
	@$(PY) -m sphinx -W --keep-going -q -j auto -d docs/_build/doctrees docs docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html"
wheel: $(VENV)/.installed-dev ## build the sdist and the wheel into dist/ and check what is in them
	@rm -rf dist build
	@$(PY) -m build -o dist . > $(VENV)/build.log 2>&1 || { tail -n 25 $(VENV)/build.log; exit 1; }
	@$(PY) .ci/check_wheel.py dist
	@rm -rf build
release: $(VENV)/.installed-dev $(VENV)/.installed-docs ## build a release twice, check it, try it on every Python [WHOLE=yes]
	@$(PY) .ci/release.py
check: ## everything that is run before a change lands (.ci/run); WHOLE=yes: all tests on every Python
	@bash .ci/run
clean: ## remove what the others have made
	@rm -rf $(VENV) build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis

FUZZ := $(PY) tests/attacks/fuzz.py
KILLS_AND_RACES := tests/archive/test_writing.py::test_kill_at_any_moment_leaves_the_old_archive_or_the_new_one \
	tests/flows/test_races.py::test_reader_processes_never_see_a_mixture_while_a_writer_replaces_the_file
fuzz: $(VENV)/.installed-test ## archives and checkpoints changed at random, killed writers, raced readers
	@for kind in "archives 1000000" "checkpoints 200000" "libraries 100000"; do \
		$(FUZZ) $$kind --seed $(SEED) --jobs $(WORKERS) || exit; done
	@KELLET_KILLS=1000 KELLET_RACE_SECONDS=600 $(PY) -m pytest -q -s -m "long or not long" $(KILLS_AND_RACES)
fuzz-sample: $(VENV)/.installed-test ## FUZZED=30 seconds of each
	@for kind in archives checkpoints libraries; do \
		$(FUZZ) $$kind --seconds $(or $(FUZZED),30) --seed $(SEED) --jobs $(WORKERS) || exit; done
# With PY=python of an environment that has torch, the tests beside torch are asked, too.
mutants: $(TESTED) ## change the code in one place, 300 times, and see which changes no test notices
	@$(ONE_THREAD) $(PY) -m tests.mutants $(ARGS)
signing-vectors: $(VENV)/.installed-test ## judge DIR=, a folder of bundles and signed files of other tools
	@$(PY) -m tests.signing.vectors $(DIR)
signing-fuzz: $(VENV)/.installed-test ## judge BUNDLES=100000 signatures changed at random
	@$(PY) -m tests.attacks.fuzz_bundles $(or $(BUNDLES),100000) $(SEED) $(WORKERS)
grammar: $(VENV)/.installed-test ## load GRAPHS=1000000 composed objects, and see what they call
	@$(ONE_THREAD) $(PY) -W ignore -m tests.attacks.grammar $(or $(GRAPHS),1000000) $(SEED) $(WORKERS)
grammar-holes: $(VENV)/.installed-test ## put closed holes back, and count the graphs until each is found
	@$(ONE_THREAD) $(PY) -W ignore -m tests.attacks.grammar holes
poison: $(VENV)/.installed-test ## give estimators numbers that fit never makes; ARGS="KMeans --rows" tries some
	@$(ONE_THREAD) $(PY) fixtures/families/poison.py --jobs $(WORKERS) $(ARGS)
# What is not installed is left out; PY=python of an environment with requirements/any-model.txt has every library.
swapped: $(VENV)/.installed-test ## forge FILES=100000 archives with swapped attributes, use them [LIBRARY=sklearn]
	@$(ONE_THREAD) $(PY) tests/attacks/swapped_attributes.py $(or $(FILES),100000) --seed $(SEED) \
		$(LIBRARY:%=--library %) $(ARGS)

transformers-families: ## pack models of transformers, load them without it, and write docs/transformers-families.md
	@.ci/transformers-families --jobs $(WORKERS) $(or $(ARGS),--write docs/transformers-families.md)
learned: ## learn anew which attributes scikit-learn, LightGBM and XGBoost give their objects
	@.ci/learned $(ARGS)
any-model: ## pack forty objects of other libraries, load each alone, and write docs/any-model.md
	@.ci/any-model --all --write docs/any-model.md
bench: $(VENV)/.installed-bench $(VENV)/.bench-libraries ## measure what a person waits for; write docs/benchmarks.md
	@$(PY) -m benchmarks --write
bench-once: $(VENV)/.installed-bench $(VENV)/.bench-libraries ## measure 4 GB on disk and make test
	@$(PY) -m benchmarks --asked --write
bench-smoke: $(VENV)/.installed-test ## start each row of the benchmarks once and small
	@$(PY) -m benchmarks --smoke
