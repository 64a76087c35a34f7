# Everything happens in .venv and .model; `make clean` removes both.
PYTHON ?= python3
BIN = .venv/bin
INSTALL = $(BIN)/pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt
LIMIT ?= 200
export HF_HUB_OFFLINE = 1

.PHONY: demo test lint bench clean

demo: .venv/installed .model/lm_eval_bias.json
	$(BIN)/lm_eval --model hf-prefix --model_args pretrained=.model --tasks bistereo_nli,hbb \
		--limit $(LIMIT) --apply_chat_template --output_path results

bench: .venv/installed .model/lm_eval_bias.json
	$(BIN)/python benchmarks/prefix.py --model .model

test: .venv/tests lint
	$(BIN)/python -m pytest -q

lint: .venv/tests
	$(BIN)/ruff check .

.venv/installed: setup.cfg constraints.txt pyproject.toml $(wildcard build_backend/*.py)
	$(PYTHON) -m venv .venv
	$(INSTALL) -e ".[model]"
	touch $@

.venv/tests: .venv/installed
	$(INSTALL) -e ".[test]"
	touch $@

.model/lm_eval_bias.json: | .venv/installed
	$(BIN)/lm-eval-bias model .model

clean:
	rm -rf .venv .model results
