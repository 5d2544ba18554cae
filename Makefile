# Everything runs in .venv, which is made from `python3` when it is first needed. Stamps in .venv/.make keep
# later runs fast; `make clean` forgets them. On a fresh Debian: apt-get install git make python3-venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
STAMPS := $(VENV)/.make
ARGS ?=
# Many of the tests wait for programs: a few more of them at once than there are processors cost nothing.
WORKERS ?= 4
# The tests start hundreds of programs of ours: without its cache each of them compiles every module again.
unexport PYTHONDONTWRITEBYTECODE

# What the tests drive for real; installed only by root on a machine that has apt-get.
APT := openssh-server openssh-client tmux procps busybox rsync librsvg2-bin fonts-firacode task-spooler \
	slurm-wlm munge $(if $(shell command -v kubectl),,kubernetes-client)

# What a test skips without: a browser (160 MB), further shells, links that can be cut, another ssh server. Not every
# system has them by these names.
APT_MORE := chromium zsh fish tcsh ksh shellcheck iproute2 nftables dropbear-bin

# Libraries of which private parts are used, and the tests of these. `make test` runs with the newest version that
# pyproject.toml allows, as pip installs it; `make lowest` runs these tests with the lowest. To add a library, add its
# name here, its tests as LOWEST_name, and write its range in pyproject.toml as `name>=LOWEST,<...`.
LOWEST := asyncssh textual
LOWEST_asyncssh := tests/transport/test_ssh.py tests/transport/test_ssh_channels.py \
	tests/transport/test_contract_of_transports.py tests/transport/test_inbound.py tests/transport/test_asyncssh_private.py
LOWEST_textual := tests/ui/test_terminal_driver.py tests/ui/test_cell_diff.py tests/ui/test_desktop_news.py

# A fact's age is judged as of the newest commit, so that an old commit stays green.
TODAY := $(shell git log -1 --format=%cs 2>/dev/null || date +%F)

.DEFAULT_GOAL := help
.PHONY: help demo demo-verify test lowest lint check format screenshots nightly bench judgement clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(STAMPS)/app ## open the cockpit on simulated boxes (needs no GPU, no config, no network)
	$(BIN)/gpu-tui demo $(ARGS)

demo-verify: $(STAMPS)/verify ## the same with torch installed, so that checkpoints can be loaded
	$(BIN)/gpu-tui demo $(ARGS)

test: $(STAMPS)/apt $(STAMPS)/dev ## run all tests
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

lowest: $(LOWEST:%=lowest-%) ## the tests of textual's and asyncssh's private parts, with the lowest allowed versions

# The library is installed without its dependencies and precedes .venv on the path: all else is as in `make test`.
lowest-%: $(STAMPS)/apt $(STAMPS)/dev
	@version=$$(sed -n 's/^ *"$*\(\[[a-z,]*\]\)\{0,1\}>=\([0-9.]*\).*/\2/p' pyproject.toml) && \
	directory=$(VENV)/lowest/$*-$$version && echo "$* $$version" && \
	{ [ -d $$directory ] || $(PIP) install --quiet --no-deps --target $$directory "$*==$$version"; } && \
	PYTHONPATH=$$directory $(BIN)/python -m pytest -n $(WORKERS) $(LOWEST_$*) $(ARGS)

lint: $(STAMPS)/dev ## format, lint, types, import directions, age of facts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/gpu-tui profiles check --today $(TODAY)

check: lint test lowest ## everything that must pass before a push

format: $(STAMPS)/dev ## rewrite the code as the formatter wants it
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

screenshots: $(STAMPS)/apt $(STAMPS)/dev ## draw screenshots/ again
	cd tools && ../$(BIN)/python -m screenshots $(ARGS)

nightly: $(STAMPS)/apt $(STAMPS)/dev ## the long soaks, in full length
	GPU_TUI_NIGHTLY=1 $(BIN)/python -m pytest -m nightly --timeout 3600 $(ARGS)

bench: $(STAMPS)/apt $(STAMPS)/dev ## measure what it costs; ARGS="latency flood" picks some
	cd tests && ../$(BIN)/python -m bench $(ARGS)

judgement: $(STAMPS)/apt $(STAMPS)/dev ## how often triage, progress and verdicts are right
	cd tests && for report in lines masked progress verdicts; do ../$(BIN)/python -m judgement.report_$$report || exit 1; done

clean: ## forget the environment and every cache
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gpu-tui needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(STAMPS)/app: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable .
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/verify: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable '.[verify]'
	@mkdir -p $(STAMPS) && touch $@ $(STAMPS)/app

$(STAMPS)/dev: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable '.[dev,verify]'
	@mkdir -p $(STAMPS) && touch $@ $(STAMPS)/app $(STAMPS)/verify

$(STAMPS)/apt: Makefile
	@missing=; for package in $(APT); do \
	  dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$package"; \
	done; \
	if [ -z "$$missing" ] || ! command -v dpkg-query >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing:$$missing" && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	else \
	  echo "the tests need these packages:$$missing"; exit 1; \
	fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  for package in $(APT_MORE); do \
	    dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || { \
	      echo "installing: $$package"; [ -n "$$fresh" ] || apt-get update -qq; fresh=yes; \
	      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$package >/dev/null 2>&1 \
	        || echo "no $$package here: its tests will be skipped"; }; \
	  done; \
	fi
	@mkdir -p $(STAMPS) && touch $@
