# Everything happens in .venv, .venv-lowest, .venv-next and .model; `make clean` removes them.
PYTHON ?= python3
BIN = .venv/bin
LOWEST = .venv-lowest/bin
NEXT = .venv-next/bin
# pip compiles what it installs: half a minute, and each of the many starts that follow saves eight seconds of computing where
# PYTHONDONTWRITEBYTECODE keeps Python from doing it at the first. .venv-lowest is started too seldom for that.
INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
LIMIT ?= 200
export HF_HUB_OFFLINE = 1

.PHONY: demo test test-lowest test-next lint bench clean

demo: .venv/installed .model/lm_eval_bias.json
	$(BIN)/lm_eval --model hf-prefix --model_args pretrained=.model --tasks bistereo_nli,hbb \
		--limit $(LIMIT) --apply_chat_template --log_samples --output_path results

bench: .venv/installed .model/lm_eval_bias.json
	$(BIN)/python speed/prefix.py --model .model

test: .venv/tests .axe/axe.min.js lint
	$(BIN)/python -m pytest -q

# What setup.cfg promises of its lower bounds: the numbers, figures, what of the parsers needs a library, and each type of request through
# the command line. The other parsers need none but Python's own, and what simulations show of intervals is no matter of versions.
test-lowest: .venv-lowest/tests .model/lm_eval_bias.json
	LM_EVAL_BIAS_LOWEST=1 $(LOWEST)/python -m pytest -q tests/metrics tests/answers/test_filters.py tests/answers/test_stereotype_content.py \
		tests/report/test_figures.py tests/test_lowest.py -k "not (interval and (hold or cover)) and not (errors and hold)"

# The harness's next version, in an environment of its own: the same numbers as the tested one gives.
test-next: .venv/installed .venv-next/installed .model/lm_eval_bias.json
	$(NEXT)/python -m pytest -q -n 0 --durations 3 tests/test_next_harness.py

lint: .venv/tests
	$(BIN)/ruff check .

.venv/installed: setup.cfg constraints.txt pyproject.toml $(wildcard build_backend/*.py)
	$(PYTHON) -m venv .venv
	$(INSTALL) -e ".[model,report]"
	touch $@

.venv/tests: .venv/installed
	$(INSTALL) -e ".[test]"
	touch $@

.venv-lowest/tests: setup.cfg constraints-lowest.txt pyproject.toml $(wildcard build_backend/*.py)
	$(PYTHON) -m venv .venv-lowest
	$(LOWEST)/pip install --quiet --no-compile --disable-pip-version-check -c constraints-lowest.txt -e ".[test]"
	touch $@

# The extra `api` brings `requests`, which this version imports always and does not declare.
.venv-next/installed: setup.cfg constraints.txt pyproject.toml $(wildcard build_backend/*.py)
	$(PYTHON) -m venv .venv-next
	sed 's/^lm_eval==.*/lm_eval==0.5.0.dev1/' constraints.txt > .venv-next/constraints.txt
	$(NEXT)/pip install --quiet --disable-pip-version-check -c .venv-next/constraints.txt \
		-e . "lm_eval[api]==0.5.0.dev1" pytest pytest-xdist hypothesis
	touch $@

# What pages are tested with, beside a Chromium. Where npm is missing those tests skip what they need it for.
.axe/axe.min.js:
	mkdir -p .axe
	-cd .axe && npm pack --silent axe-core@4.14.1 && tar -xzf axe-core-4.14.1.tgz --strip-components 1 package/axe.min.js package/LICENSE

.model/lm_eval_bias.json: | .venv/installed
	$(BIN)/lm-eval-bias model .model

clean:
	rm -rf .venv .venv-lowest .venv-next .model .axe results
