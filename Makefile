# Every way into the project; `make help` lists them. Each target makes .venv by itself, from a Python >= 3.11 alone.

# What the commands are given; empty: their own defaults. PYTHON picks the interpreter that .venv is made with.
EDITION =
PLAYERS =
PORT    =
PAGE    =
GAMES   = 10000
TESTS   = tests
HOSTILE_MESSAGES = 100000
PYTHON  =
# A base image (empty: the Dockerfile's), and what the image is called (empty: omnipoly and its version).
BASE    =
IMAGE   =
# Of make load, beside SECONDS; empty: few, at a stack of its own. GATEWAY: host:port, several apart by spaces.
TABLES  =
CLIENTS =
RATE    =
THINK   =
SEATS   =
GATEWAY =
SESSION_KEY_FILE =

BIN   := .venv/bin
VENV  := .venv/.made-from-lock
BUF   := .node/.made-from-lock
NODE  := tests/clients/node/node_modules/.made-from-lock
KUBE  := .venv/kubectl

edition = $(if $(EDITION),--edition $(EDITION))
players = $(if $(PLAYERS),--players $(PLAYERS))
port    = $(if $(PORT),--port $(PORT))

.DEFAULT_GOAL := help
.PHONY: help setup demo run test hostile lint types protos vendor pictures reference simulate bench profile chaos golden load image compose-up test-containers lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(VENV) ## Make .venv from the lock file (every target does so by itself)
	@echo "Ready: .venv with $$($(BIN)/python --version)"

demo: $(VENV) ## Watch bots play one game on a stack of its own (EDITION, PLAYERS)
	@$(BIN)/omnipoly demo $(edition) $(players)

run: $(VENV) ## Run every service on this machine, and a web page to watch and play, until Ctrl-C (PORT, PAGE)
	@$(BIN)/omnipolyd up $(port) --page-port $(or $(PAGE),7180)

# Two processes, a file each at a time: each starts a Postgres and a NATS of its own. `make test TESTS="-n 0 tests/rules"`
# is one process.
test: $(VENV) $(NODE) $(KUBE) ## Run the tests (TESTS: paths and pytest options)
	@$(BIN)/pytest -n 2 --dist loadfile $(TESTS)

hostile: $(VENV) ## Throw HOSTILE_MESSAGES odd messages at each public RPC, then measure what attacks cost the others
	@$(BIN)/pytest -q tests/services/hostile
	@HOSTILE_MESSAGES=$(HOSTILE_MESSAGES) $(BIN)/python -m tests.services.hostile.measure

lint: $(VENV) $(BUF) ## Check style, import directions, generated stubs and contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python .ci/protos.py --check
	$(BIN)/python .ci/api.py --check
	.ci/contracts
	.ci/vendor --check

types: $(VENV) ## Check types: mypy --strict on libs and services
	$(BIN)/mypy

protos: $(VENV) ## Write the Python stubs of the contracts under protos/, and their reference
	@$(BIN)/python .ci/protos.py
	@$(BIN)/python .ci/api.py

vendor: $(VENV) $(BUF) ## Bundle the library that the web page speaks gRPC-Web with
	@.ci/vendor

pictures: $(VENV) ## Take the pictures of README.md anew, in Chromium (docs/pictures)
	@$(BIN)/python .ci/pictures.py

reference: $(VENV) ## Write what is made from the code: references of metrics and configuration, dashboards
	@$(BIN)/python .ci/reference.py && $(BIN)/python .ci/dashboards.py && $(BIN)/python .ci/kubernetes.py

simulate: $(VENV) ## Play GAMES games of bots on the engine alone (GAMES, EDITION, PLAYERS)
	@$(BIN)/omnipoly simulate --games $(GAMES) $(edition) $(players)

bench: $(VENV) ## Measure what the platform costs, in ratios (ONLY=B-…, SECONDS, PAIRS); writes build/bench.json, flame graphs
	@$(BIN)/python -m tests.load.bench $(foreach row,$(ONLY),--only $(row)) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(PAIRS),--pairs $(PAIRS))

profile: $(VENV) ## Write flame graphs of a command's way and the engine alone (build/profile-*.svg; make bench does so, too)
	@$(BIN)/python -m tests.load.bench --profile

# Whole processes are killed and stopped, so it runs by itself: everything about a run stays in build/chaos.
chaos: $(VENV) ## Kill, stop and cut everything while 50 tables are played, then check every journal (CHAOS_SECONDS, SEED)
	@$(BIN)/python -m tests.load.chaos $(if $(CHAOS_SECONDS),--seconds $(CHAOS_SECONDS)) $(if $(SEED),--seed $(SEED))

golden: $(VENV) ## Write the golden playthroughs of tests/golden anew, where what is played has changed on purpose
	@$(BIN)/python -m tests.golden.write

load: $(VENV) ## Players and watchers at GATEWAY or a stack of its own (TABLES, CLIENTS, SECONDS, RATE, THINK); report in build/load
	@$(BIN)/python -m tests.load.crowd $(if $(TABLES),--tables $(TABLES)) $(if $(CLIENTS),--clients $(CLIENTS)) \
	  $(if $(SECONDS),--seconds $(SECONDS)) $(if $(RATE),--rate $(RATE)) $(if $(THINK),--think $(THINK)) \
	  $(if $(SEATS),--seats $(SEATS)) $(foreach one,$(GATEWAY),--gateway $(one)) \
	  $(if $(SESSION_KEY_FILE),--session-key-file $(SESSION_KEY_FILE))

image: $(VENV) ## Build the image of all services (BASE, IMAGE; deploy/image/local-base.sh makes a base offline)
	@deploy/image/build "$(BASE)" "$(IMAGE)"

compose-up: ## Run everything in containers, with Prometheus and Grafana, where Docker can pull; make image first
	@deploy/compose/up

test-containers: $(VENV) ## Test the image, and the whole platform in containers (BASE)
	@$(BIN)/python -m tests.containers $(if $(BASE),--base $(BASE))

lock: $(VENV) ## Bring .ci/requirements.lock in step with pyproject.toml (UPGRADE=1: newest versions)
	@.ci/lock $(if $(UPGRADE),--upgrade)

clean: ## Remove .venv, .node, build and caches; game data in .omnipoly stays
	rm -rf .venv .node build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find libs services tests .ci -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV): .ci/requirements.lock pyproject.toml
	@.ci/setup "$(PYTHON)"
	@touch $@

$(KUBE): .ci/kubectl | $(VENV)
	@$(BIN)/python .ci/kubectl $@

$(BUF): .ci/node/package-lock.json
	@command -v npm >/dev/null || { echo "make: buf, which checks the contracts, needs npm (Debian: apt-get install npm)" >&2; exit 1; }
	@echo "Installing buf and esbuild into .node"
	@mkdir -p .node && cp .ci/node/package.json .ci/node/package-lock.json .node/
	@npm ci --prefix .node --ignore-scripts --no-audit --no-fund --silent
	@touch $@

# Without npm the tests run all the same: those of the client in Node fail, and say what is missing.
$(NODE): tests/clients/node/package-lock.json
	@if command -v npm >/dev/null; then \
	  echo "Installing the packages of the client in Node"; \
	  npm ci --prefix tests/clients/node --ignore-scripts --no-audit --no-fund --silent && touch $@; \
	else echo "make: the client in Node needs npm (Debian: apt-get install nodejs npm)" >&2; fi
