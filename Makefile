# Everything happens in .venv, .venv-lowest and .model; `make clean` removes them.
PYTHON ?= python3
BIN = .venv/bin
LOWEST = .venv-lowest/bin
# pip compiles what it installs: half a minute, and each of the many starts that follow saves eight seconds of computing where
# PYTHONDONTWRITEBYTECODE keeps Python from doing it at the first. .venv-lowest is started too seldom for that.
INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
LIMIT ?= 200
export HF_HUB_OFFLINE = 1

.PHONY: demo test test-lowest lint bench clean

demo: .venv/installed .model/lm_eval_bias.json
	$(BIN)/lm_eval --model hf-prefix --model_args pretrained=.model --tasks bistereo_nli,hbb \
		--limit $(LIMIT) --apply_chat_template --output_path results

bench: .venv/installed .model/lm_eval_bias.json
	$(BIN)/python benchmarks/prefix.py --model .model

test: .venv/tests lint
	$(BIN)/python -m pytest -q

# What setup.cfg promises of its lower bounds: the numbers, the parsers, and each type of request through the command line.
test-lowest: .venv-lowest/tests .model/lm_eval_bias.json
	LM_EVAL_BIAS_LOWEST=1 $(LOWEST)/python -m pytest -q tests/metrics $(wildcard tests/test_answers.py tests/answers/test_*.py) tests/test_lowest.py

lint: .venv/tests
	$(BIN)/ruff check .

.venv/installed: setup.cfg constraints.txt pyproject.toml $(wildcard build_backend/*.py)
	$(PYTHON) -m venv .venv
	$(INSTALL) -e ".[model]"
	touch $@

.venv/tests: .venv/installed
	$(INSTALL) -e ".[test]"
	touch $@

.venv-lowest/tests: setup.cfg constraints-lowest.txt pyproject.toml $(wildcard build_backend/*.py)
	$(PYTHON) -m venv .venv-lowest
	$(LOWEST)/pip install --quiet --no-compile --disable-pip-version-check -c constraints-lowest.txt -e ".[test]"
	touch $@

.model/lm_eval_bias.json: | .venv/installed
	$(BIN)/lm-eval-bias model .model

clean:
	rm -rf .venv .venv-lowest .model results
