# Everything happens in .venv and .model; `make clean` removes both.
PYTHON ?= python3
BIN = .venv/bin
LIMIT ?= 100
export HF_HUB_OFFLINE = 1

.PHONY: demo test lint clean

demo: .venv/installed .model/lm_eval_bias.json
	$(BIN)/lm_eval --model hf --model_args pretrained=.model --tasks bistereo_nli,hbb \
		--limit $(LIMIT) --metadata order=paper --batch_size 4 --output_path results

test: .venv/installed lint
	$(BIN)/python -m pytest -q

lint: .venv/installed
	$(BIN)/ruff check .

.venv/installed: setup.cfg constraints.txt pyproject.toml $(wildcard build_backend/*.py)
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e ".[test]"
	touch $@

.model/lm_eval_bias.json: | .venv/installed
	$(BIN)/lm-eval-bias model .model

clean:
	rm -rf .venv .model results
