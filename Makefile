# Every target says what it does: `make help`. A fresh machine needs python3 (3.11 or newer), make and the network.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.installed
PACKAGES := streams projections adapters dispatch
TIERS  := $(addprefix test-,unit properties simulator conformance nats local kills promises services compose acceptance)
# Tiers that need root, Docker or other languages: `make test` leaves them out by name, `make test-all` does not.
ROOTED := $(notdir $(wildcard tests/integration/compose tests/integration/services))
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup style check test test-all demo bench sim shrink soak mutants small cover-simulation reference lock image wheel clean $(TIERS)
.DELETE_ON_ERROR:


help: ## Say what each target does
	@printf 'dispatch: an event-sourced supervisor of multi-node GPU training jobs on NATS JetStream\n\n'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## Make .venv from the lock file, every hash checked

$(READY): requirements.lock pyproject.toml scripts/setup.sh
	@sh scripts/setup.sh '$(PYTHON)' '$(VENV)'
	@touch $@

style: $(READY)
	@echo '== ruff: rules and format'
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo '== mypy --strict: the packages, the tests, the examples'
	@$(BIN)/mypy
	@echo '== import contracts: the folders are the layers, the core is pure'
	@$(BIN)/lint-imports --no-cache --no-logo

check: style ## Style alone: ruff, mypy --strict, import contracts, the tidy tests
	@echo '== tidy tests: ceilings, docstrings, words, links'
	@$(BIN)/pytest -q tests/tidy

test: style ## Every test that needs only python3 and the network, style included
	@echo '== tests: every tier but those that need root, Docker or other languages: $(or $(ROOTED),none)'
	@$(BIN)/pytest $(addprefix --without=,$(ROOTED))

test-all: style ## Every test of every tier: needs root and Docker, as CI has
	@echo '== tests: every tier'
	@$(BIN)/pytest

demo: $(READY) ## Watch a real two-rank job survive a killed supervisor, a crash, a recovery; and a cancel
	@echo '== demo: a NATS server, two supervisors and two jobs on this machine, everything removed at the end'
	@$(BIN)/python examples/demo.py

test-unit: ## Tier: one part, one promise
test-properties: ## Tier: laws of the fold and the codec, on whatever hypothesis finds
test-simulator: ## Tier: the real supervisor in a seeded world, crashed at any await, laws checked from outside
test-conformance: ## Tier: every implementation of a port passes its one suite, doubles and real ones
test-nats: ## Tier: the bus on real nats-servers, with real crashes, pauses and restores
test-local: ## Tier: the local adapter on real processes
test-kills: ## Tier: the supervisor killed, and frozen, at every await
test-promises: ## Tier: the promises on real processes: several replicas, lost replies, reboots, late calls
test-services: ## Tier: services in other languages; scripts/with_clients.sh make test-services installs what it needs
test-compose: ## Tier: compose.yaml as a whole, losing a supervisor and a NATS node; needs root and Docker
test-acceptance: ## Tier: the README's commands, as a person types them; the wheel

$(TIERS): tier = $(@:test-%=%)
$(TIERS): $(READY)
	@echo '== tests: the tier $(tier)'
	@$(BIN)/pytest $(or $(wildcard tests/$(tier) tests/integration/$(tier)),tests/$(tier))

SEED ?= 1
STOP_AT ?= 300
sim: $(READY) ## Replay one simulated world: SEED=, STOP_AT= busy steps, SHAPE=; its trace, record and ground truth
	@$(BIN)/python -m tests.simulator replay $(SEED) --stop-at $(STOP_AT) $(if $(SHAPE),--shape $(SHAPE))

shrink: $(READY) ## Make a failing seed short: SEED=, STOP_AT=, SHAPE=
	@$(BIN)/python -m tests.simulator shrink $(SEED) --stop-at $(STOP_AT) $(if $(SHAPE),--shape $(SHAPE))

MINUTES ?= 480
PROCESSES ?= 1
SCHEDULES ?=
soak: $(READY) ## Simulate: MINUTES= at most, SCHEDULES=, PROCESSES=, SEED= to begin with; the report into docs/simulator/soak.md
	@echo '== soak: from seed $(SEED), at most $(MINUTES) minutes'
	@$(BIN)/python -m tests.simulator soak --seed $(SEED) --minutes $(MINUTES) --processes $(PROCESSES) \
	  $(if $(SCHEDULES),--schedules $(SCHEDULES)) --report docs/simulator/soak.md

mutants: $(READY) ## How many seeds catch each planted bug: ONLY= part of a name; the table into docs/simulator/mutants.md
	@$(BIN)/python -m tests.simulator mutants --seed $(SEED) --only '$(ONLY)' --table docs/simulator/mutants.md

small: $(READY) ## Every interleaving of the simulator's small worlds; counts into docs/simulator/small-worlds.md
	@echo '== small: every state of every small world, a quarter of an hour on one quiet core'
	@$(BIN)/python -m tests.simulator.small

SEEDS ?= 0
cover-simulation: $(READY) ## Branches that simulation alone reaches: docs/simulator/coverage.md; SEEDS= to look for other runs
	@echo '== cover-simulation: the scripted ways and the recorded runs, under coverage'
	@$(BIN)/python -m tests.simulator.reached --seeds $(SEEDS) --page

bench: $(READY) ## What it costs: each figure beside its yardstick, in one run; a table, and docs/benchmarks
	@echo '== bench: real servers and processes, about five minutes on two quiet cores'
	@$(BIN)/python -m bench

reference: $(READY) ## Write docs/reference again from the message types
	@echo '== reference: messages, words and JSON Schemas from streams/messages'
	@$(BIN)/python -m scripts.reference

lock: $(READY) ## Resolve pyproject.toml again into requirements.lock, with hashes
	@echo '== uv: requirements.lock from pyproject.toml'
	@$(BIN)/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header --upgrade -q -o requirements.lock

BASE_IMAGE ?= python:$(shell $(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)-slim
image: $(READY) ## Build the image that compose.yaml names: the wheel and what the lock names (BASE_IMAGE=...)
	@echo '== image: dispatch-supervisor:0.1.0 on $(BASE_IMAGE)'
	@$(BIN)/python -m scripts.image dispatch-supervisor:0.1.0 '$(BASE_IMAGE)'

wheel: $(READY) ## Build dist/*.whl from the checkout
	@echo '== build: dist/*.whl, nothing fetched'
	@$(BIN)/python -m build --wheel --no-isolation --outdir dist .

clean: ## Remove what was built here: .venv, caches, dist
	@echo '== removing .venv, caches and dist'
	@rm -rf $(VENV) .cache dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
	@find $(PACKAGES) tests examples scripts -name __pycache__ -type d -prune -exec rm -rf {} +
