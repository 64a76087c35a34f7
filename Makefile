# Everything happens in .venv, .venv-lowest, .venv-slim and .model; `make clean` removes them.
PYTHON ?= python3
BIN = .venv/bin
LOWEST = .venv-lowest/bin
SLIM = .venv-slim/bin
# What a first start compiles is kept; pip would compile all files, which takes a minute, and most are never imported.
unexport PYTHONDONTWRITEBYTECODE
INSTALL = install --quiet --no-compile --disable-pip-version-check
# The pip that comes with Python 3.11 takes twice as long: it compares each file of the index with a thousand tags.
define VENV
	$(PYTHON) -m venv .venv
	$(BIN)/pip $(INSTALL) -c constraints.txt --upgrade pip
endef
# An environment on top of .venv: what it lacks it finds there, so that only other versions are installed.
define ON_TOP
	$(PYTHON) -m venv --without-pip --clear $(@D)
	echo "import glob, site; site.addsitedir(*glob.glob('$(CURDIR)/.venv/lib/python*/site-packages'))" >$$(echo $(@D)/lib/python*/site-packages)/venv.pth
endef
export HF_HUB_OFFLINE = 1

.NOTPARALLEL:
.PHONY: help null-models planted demo docs test test-all test-lowest test-slim lint bench clean

# This list.
help:
	@awk '/^# /{said = substr($$0, 3)} /^[a-z-]+:/{if (said) printf "%-12s %s\n", substr($$1, 1, index($$1, ":") - 1), said} !/^#/{said = ""}' Makefile

# A small model, and the same with a planted bias: two tasks, and a report with both, in ten minutes.
demo: .venv/installed .model/lm_eval_bias.json .planted/lm_eval_bias.json
	for model in model planted; do $(BIN)/lm_eval --model hf-prefix --model_args pretrained=.$$model \
		--tasks bistereo_pairs_ci,bistereo_analogy --log_samples --output_path results/$$model || exit; done
	$(BIN)/lm-eval-bias report small=results/model planted=results/planted -o report

# Compare the speed of hf-prefix with that of hf, on a CPU.
bench: .venv/installed .model/lm_eval_bias.json
	$(BIN)/python speed/prefix.py --model .model

# What models without meaning say: systematic_errors.json and docs/explanation/null_models.md.
null-models: .venv/tests .model/lm_eval_bias.json
	$(BIN)/python simulations/null_models.py --models 30 --tasks bistereo_pairs_ci bistereo_nli_ci bistereo_analogy hbb_ci \
		mist_wabt_likelihood_ci mist_aat_likelihood_ci empathy_religion_likelihood_ci \
		--families random_weights echo bag_of_words bag_of_words_pooled noise

# The bias that ships, planted again: planted/.
planted: .venv/tests .model/lm_eval_bias.json
	$(BIN)/python simulations/planted.py skin --doses 1

# The site, in site/; a link or an anchor that leads nowhere is an error. The variable silences an advertisement.
docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# What every change runs: the linters and all tests without the mark `slow`. Under five minutes on two cores.
test: .venv/tests
	$(MAKE) --no-print-directory lint & lint=$$!; $(MAKE) --no-print-directory .model/lm_eval_bias.json && \
		$(BIN)/python -m pytest -q -m "not slow"; tests=$$?; wait $$lint && exit $$tests

# Everything else: full runs of the small model, browsers, simulations in small form, fuzzing.
test-all: .venv/tests .model/lm_eval_bias.json .axe/axe.min.js
	$(BIN)/python -m pytest -q -m slow $$(grep -rl slow tests --include='test_*.py')

# The lower bounds of setup.cfg: numbers, figures, readers that need a library, each request type through the command line.
test-lowest: .venv-lowest/tests .model/lm_eval_bias.json
	LM_EVAL_BIAS_LOWEST=1 $(LOWEST)/python -m pytest -q tests/metrics tests/answers/test_filters.py tests/answers/test_stereotype_content.py \
		tests/figures/test_figures.py tests/test_lowest.py tests/test_end_to_end.py -m "not slow"

# Without torch, transformers, accelerate and peft: the commands that read results, and chat-logprobs.
test-slim: .venv-slim/tests
	$(SLIM)/python -m pytest -q tests/test_slim.py tests/test_cli.py tests/commands/test_compare.py \
		tests/commands/test_gate.py tests/commands/test_leaderboard.py tests/show/test_report.py tests/export tests/models/test_chat_logprobs.py \
		-m "not slow" -k "not wrong_file and not without_network"

lint: .venv/tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.venv/installed: setup.cfg lm_eval_bias/__init__.py constraints.txt pyproject.toml $(wildcard build_backend/*.py)
	$(VENV)
	$(BIN)/pip $(INSTALL) -c constraints.txt -e ".[model,report]"
	touch $@

# What the site needs, too: pip would resolve all anew for it, which takes half a minute.
.venv/tests: setup.cfg lm_eval_bias/__init__.py constraints.txt pyproject.toml $(wildcard build_backend/*.py)
	$(VENV)
	$(BIN)/pip $(INSTALL) -c constraints.txt -e ".[docs,test]"
	touch .venv/installed .venv/docs $@

# Of versions that go together by themselves: constraints-lowest.txt says how they were found.
.venv-lowest/tests: .venv/tests constraints-lowest.txt
	$(ON_TOP)
	grep -vixFf constraints.txt constraints-lowest.txt >$(@D)/other.txt
	$(BIN)/pip --python $(@D) $(INSTALL) --no-deps -r $(@D)/other.txt
	touch $@

# All that .venv has but these.
.venv-slim/tests: .venv/tests
	$(PYTHON) -m venv --without-pip --clear $(@D)
	cd $(@D)/lib/python*/site-packages && ln -s $(CURDIR)/.venv/lib/python*/site-packages/* . && \
		rm *torch* *transformers* accelerate* peft*
	touch $@

.venv/docs: .venv/installed
	$(BIN)/pip $(INSTALL) -c constraints.txt -e ".[docs]"
	touch $@

# What pages are tested with, beside a Chromium. Where npm is missing those tests skip what they need it for.
.axe/axe.min.js:
	mkdir -p .axe
	-cd .axe && npm pack --silent axe-core@4.14.1 && tar -xzf axe-core-4.14.1.tgz --strip-components 1 package/axe.min.js package/LICENSE

.model/lm_eval_bias.json: | .venv/installed
	$(BIN)/lm-eval-bias model .model

.planted/lm_eval_bias.json: | .venv/installed
	$(BIN)/lm-eval-bias model .planted --planted skin

clean:
	rm -rf .venv .venv-lowest .venv-slim .model .planted .axe results report site
