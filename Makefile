# `make demo` and `make test` are all that a new machine with Python (3.11 or later) and make needs:
# each makes .venv by itself, installs only what it needs, and runs.

VENV := .venv
PY := $(VENV)/bin/python
# Rows of arithmetic are compared, and tests run side by side, on one thread each.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
WORKERS ?= 2

.PHONY: help demo demo-hooks test test-core test-long test-mpi windows-view fuzz fuzz-sample mutants grammar grammar-holes swapped poison transformers-families learned lint types docs any-model bench bench-goals bench-compare bench-smoke wheel check clean
.DEFAULT_GOAL := help

help:
	@echo "make demo         pack a language model, load it under another Python (two minutes on a new machine)"
	@echo "make demo-hooks   train a small network with its hooks in sight"
	@echo "make test         run the tests, README and docstring examples among them"
	@echo "make test-core    run the tests of kellet alone: little to install, half a minute to the first dot"
	@echo "make test-long    run the tests that take many seconds each"
	@echo "make test-mpi     run the tests of several processes, under mpiexec of the extra mpi"
	@echo "make windows-view run the tests where our modules see what Windows has"
	@echo "make fuzz         read a million archives and 200,000 checkpoints changed at random, kill writers, race readers"
	@echo "make mutants      change the code in one place, 300 times, and see which changes no test notices"
	@echo "make grammar      load GRAPHS=1000000 composed objects from number SEED=1, and see what they call"
	@echo "make grammar-holes put closed holes back, one at a time, and see after how many graphs each is found"
	@echo "make poison       give every estimator numbers and lengths that fit never makes, and see which end a process"
	@echo "make swapped      forge FILES=100000 archives with swapped attributes, SEED=1 [LIBRARY=sklearn], load and use them"
	@echo "make transformers-families  pack models of transformers and load them without it; write docs/transformers-families.md"
	@echo "make learned      learn anew what attributes scikit-learn, LightGBM and XGBoost give their objects"
	@echo "make lint         ruff: rules and format"
	@echo "make types        mypy --strict on kellet and packager"
	@echo "make docs         build the documentation into docs/_build, warnings as errors"
	@echo "make any-model    pack forty objects of other libraries, load each alone, and write docs/any-model.md"
	@echo "make bench        run the benchmarks and write docs/benchmarks.md"
	@echo "make bench-goals  run what the second list of goals asks for, and say on the page what it came to"
	@echo "make bench-compare  what changed by more than a fifth between the last two runs"
	@echo "make bench-smoke  start one row of each kind of benchmark, to see that it runs"
	@echo "make wheel        build the sdist and the wheel into dist/ and check what is in them"
	@echo "make check        everything that is run before a change lands (.ci/run); WHOLE=yes: all tests on every Python"
	@echo "make clean        remove what the above have made"

# One stamp per extra: an environment is installed into when it lacks the extra or pyproject.toml changed.
$(VENV)/.installed-%: pyproject.toml
	@.ci/venv $(VENV) any $(HOW) -e ".[$*]"
	@touch $@
.PRECIOUS: $(VENV)/.installed-%
# Python compiles what these tests import; pip would compile all that it installs before the first of them runs.
$(VENV)/.installed-test-core: HOW := --no-compile

# Weights of a real model, alone: what their distribution asks for is neither needed nor small.
$(VENV)/.weights: fixtures/models/weights.txt
	@.ci/venv $(VENV) any --no-deps -r $<
	@touch $@

# What the benchmarks plan and load, in the same way.
$(VENV)/.bench-libraries: benchmarks/libraries.txt
	@.ci/venv $(VENV) any --no-deps -r $<
	@touch $@

demo: $(VENV)/.installed-demo $(VENV)/.weights
	@$(ONE_THREAD) $(PY) fixtures/demo/minilm.py

demo-hooks: $(VENV)/.installed-demo
	@$(ONE_THREAD) $(PY) fixtures/demo/train.py

test: $(VENV)/.installed-test $(VENV)/.weights
	@$(ONE_THREAD) $(PY) -m pytest -q -n $(WORKERS) --dist worksteal $(ARGS)

# The folders of the rooms of kellet, which need pytest, hypothesis and ml_dtypes alone.
CORE := autograd core data distributed files hooks nn optim rules
test-core: $(VENV)/.installed-test-core
	@$(ONE_THREAD) $(PY) -m pytest -q $(CORE:%=tests/%) $(ARGS)

# What takes many seconds by its nature: large inputs, and counts that are figures.
test-long: $(VENV)/.installed-test $(VENV)/.weights
	@$(ONE_THREAD) $(PY) -m pytest -q -n $(WORKERS) --dist worksteal -m long $(ARGS)

# What several processes do together; each test file starts mpiexec a few times.
test-mpi: $(VENV)/.installed-test $(VENV)/.installed-mpi
	@$(ONE_THREAD) $(PY) -m pytest -q -m mpi --needs mpi4py tests/mpi $(ARGS)

# The same tests, where our modules see what Windows has; VIEWED names some of them.
VIEWED ?= tests
windows-view: $(VENV)/.installed-test $(VENV)/.weights
	@$(PY) -m tests.windows_view
	@# A place of its own: others would take its folders, which have no locks, for left ones. Not in the environment,
	@# below which no project is looked for.
	@place="$$(mktemp -d)" && trap 'rm -rf "$$place"' EXIT && TMPDIR="$$place" KELLET_VIEW=windows $(ONE_THREAD) \
		$(PY) -m pytest -q -n $(WORKERS) --dist worksteal $(VIEWED) $(ARGS)

FUZZ := $(PY) tests/attacks/fuzz.py
SEED ?= 1
FUZZED ?= 30
KILLS_AND_RACES := tests/archive/test_writing.py::test_kill_at_any_moment_leaves_the_old_archive_or_the_new_one \
	tests/flows/test_races.py::test_reader_processes_never_see_a_mixture_while_a_writer_replaces_the_file

fuzz: $(VENV)/.installed-test
	@$(FUZZ) archives 1000000 --seed $(SEED) --jobs $(WORKERS)
	@$(FUZZ) checkpoints 200000 --seed $(SEED) --jobs $(WORKERS)
	@$(FUZZ) libraries 100000 --seed $(SEED) --jobs $(WORKERS)
	@KELLET_KILLS=1000 KELLET_RACE_SECONDS=600 $(PY) -m pytest -q -s -m "long or not long" $(KILLS_AND_RACES)

# So many seconds of each.
fuzz-sample: $(VENV)/.installed-test
	@$(FUZZ) archives --seconds $(FUZZED) --seed $(SEED) --jobs $(WORKERS)
	@$(FUZZ) checkpoints --seconds $(FUZZED) --seed $(SEED) --jobs $(WORKERS)
	@$(FUZZ) libraries --seconds $(FUZZED) --seed $(SEED) --jobs $(WORKERS)

# With PY=python of an environment that has torch, the tests beside torch are asked, too.
mutants: $(VENV)/.installed-test $(VENV)/.weights
	@$(ONE_THREAD) $(PY) -m tests.mutants $(ARGS)

GRAPHS ?= 1000000
grammar: $(VENV)/.installed-test
	@$(ONE_THREAD) $(PY) -W ignore -m tests.attacks.grammar $(GRAPHS) $(SEED) $(WORKERS)

grammar-holes: $(VENV)/.installed-test
	@$(ONE_THREAD) $(PY) -W ignore -m tests.attacks.grammar holes

# Two hours for all estimators; ARGS="KMeans Birch --rows" tries some, and what the rows of relations refuse.
poison: $(VENV)/.installed-test
	@$(ONE_THREAD) $(PY) fixtures/families/poison.py --jobs $(WORKERS) $(ARGS)

# What is not installed is left out; PY=python of an environment with the extra any-model has every library.
FILES ?= 100000
swapped: $(VENV)/.installed-test
	@$(ONE_THREAD) $(PY) tests/attacks/swapped_attributes.py $(FILES) --seed $(SEED) $(LIBRARY:%=--library %) $(ARGS)

# An environment of its own, with torch; ARGS="--only bert" runs some of them.
transformers-families:
	@.ci/transformers-families --jobs $(WORKERS) $(or $(ARGS),--write docs/transformers-families.md)

# One environment for each minor version; fits take a quarter of an hour on four cores.
learned:
	@.ci/learned $(ARGS)

lint: $(VENV)/.installed-dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

types: $(VENV)/.installed-dev $(VENV)/.installed-test
	@$(PY) -m mypy

docs: $(VENV)/.installed-docs
	@$(PY) -m sphinx -W --keep-going -q -j auto -d docs/_build/doctrees docs docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html"

# Half an hour and more, and a gigabyte of other libraries, in environments of their own.
any-model:
	@.ci/any-model --all --write docs/any-model.md

bench: $(VENV)/.installed-bench $(VENV)/.bench-libraries
	@$(PY) -m benchmarks --write docs/benchmarks.md

# The rows with a goal of the second list alone, a quarter of an hour; the page says what the last two runs came to.
bench-goals: $(VENV)/.installed-bench $(VENV)/.bench-libraries
	@$(ONE_THREAD) $(PY) -m benchmarks --goals --record
	@$(PY) -m benchmarks.goals --write docs/benchmarks.md

bench-compare: $(VENV)/.installed-test
	@$(PY) -m benchmarks.history

bench-smoke: $(VENV)/.installed-test
	@$(PY) -m benchmarks --smoke

wheel: $(VENV)/.installed-dev
	@rm -rf dist build
	@$(PY) -m build -o dist . > $(VENV)/build.log 2>&1 || { tail -n 25 $(VENV)/build.log; exit 1; }
	@$(PY) .ci/check_wheel.py dist
	@rm -rf build

check:
	@bash .ci/run

clean:
	@rm -rf $(VENV) build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
