# Everything runs in a virtual environment of its own, made on first use.
#     make demo PYTHON=python3.12      another interpreter
#     make test ARGS="-k isotropy"     options for the tool behind a target

PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=
# a process a core, one thread each unless OMP_NUM_THREADS is set (tests/conftest.py): tests are many and small
PYTEST  = HF_HUB_OFFLINE=1 $(PY) -m pytest -q -n auto --maxprocesses 4 --dist loadscope
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip --disable-pip-version-check --quiet install --constraint constraints.txt

export TOKENIZERS_PARALLELISM := false

.DEFAULT_GOAL := help
.PHONY: help demo test test-all check format golden wheel bench docs pages reproduce clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.base  ## install what limbeck needs, and measure three small models on a small text
	@$(VENV)/bin/limbeck demo $(ARGS)

test: $(VENV)/.dev  ## the fast tests: offline, no GPU
	$(PYTEST) -m "not slow" $(ARGS)

test-all: $(VENV)/.dev  ## every test, the slow ones too
	$(PYTEST) $(ARGS)

check: $(VENV)/.dev  ## style, types, who imports whom, and what the wheel holds
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) tools/check_wheel.py

format: $(VENV)/.dev  ## put the code into the form that check wants
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

golden: $(VENV)/.dev  ## the program beside itself as it was at the commit in tests/golden/BASE, number by number (ARGS=scenario)
	$(PY) tools/golden.py $(ARGS)

wheel: $(VENV)/.dev  ## build the wheel into dist/ and try it in an empty environment
	$(PY) tools/check_wheel.py --keep dist --install

bench: $(VENV)/.dev  ## speed and memory, side by side with the peers
	$(PY) -m benchmarks.all $(ARGS)

docs: $(VENV)/.dev  ## build the documentation as a site into site/, which needs no network; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict $(ARGS)
	@echo "The site: site/index.html; for its search, $(PY) -m http.server --directory site"

pages: $(VENV)/.dev  ## write the generated pages of docs/ and the types of the public names anew
	$(PY) -m docs.generate $(ARGS)
	$(PY) -m docs.stub

reproduce: $(VENV)/.dev  ## judge the papers' claims on the miniatures, write docs/ anew (DATA=folder of tasks, TEXT=text and TUNED=fine-tuned models for gupta2021, MODEL=one more and STATIC=word vectors for gupta2021 and zhao2020)
	$(VENV)/bin/limbeck reproduce ethayarajh2019 --lowercase $(if $(DATA),--data $(DATA)) --out runs/ethayarajh2019 \
	    --existing resume --page docs/architecture.md $(ARGS)
	$(VENV)/bin/limbeck reproduce rajaee2021 --lowercase $(if $(DATA),--data $(DATA)) --out runs/rajaee2021 \
	    --existing resume --page docs/rajaee2021.md
	$(VENV)/bin/limbeck reproduce bis2021 --lowercase $(if $(DATA),--data $(DATA)) --early recipes/results \
	    --out runs/bis2021 --existing replace --page docs/bis2021.md
	$(VENV)/bin/limbeck reproduce gupta2021 $(if $(DATA),--data $(DATA)) $(if $(TEXT),--corpus $(TEXT)) \
	    --model mini-bert mini-gpt2 $(MODEL) $(STATIC) --epochs 5 --sentences 20000 --max-train 1000 --starts 6 \
	    $(if $(TUNED),--fine-tuned $(TUNED)) --out runs/gupta2021 --existing resume --page docs/gupta2021.md
	$(VENV)/bin/limbeck reproduce zhao2020 --lowercase $(if $(DATA),--data $(DATA)) \
	    $(if $(MODEL),--model mini-bert mini-gpt2 mini-elmo $(MODEL)) $(if $(STATIC),--static $(STATIC)) \
	    --out runs/zhao2020 \
	    --existing resume --page docs/zhao2020.md

clean:  ## remove the environment, caches and builds (results in runs/ stay)
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests tools docs benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The environment: one stamp for what a user needs, one for what a developer needs.

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "limbeck needs Python 3.11 or newer, '$(PYTHON)' is not: try 'make PYTHON=python3.12 ...'." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml constraints.txt | $(PY)
	@echo "Installing limbeck into $(VENV), a minute or two ..."
	@$(PIP) --editable '.[repair]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(PY)
	@echo "Installing limbeck and its development tools into $(VENV), a minute or two ..."
	@$(PIP) --editable '.[dev,models]'
	@touch $(VENV)/.base $@
