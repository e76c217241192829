# Tools that the repository builds for itself go to .bin; nothing is installed
# elsewhere. A `temporal` binary in TEMPORAL_CLI or on PATH is taken as it is.

BIN := $(CURDIR)/.bin
TEMPORAL_VERSION := v1.5.1
export TEMPORAL_CLI ?= $(or $(shell command -v temporal),$(BIN)/temporal)

DEVSTACK_SOURCES := $(shell find devstack -path devstack/node_modules -prune -o \( -name '*.go' -o -name '*.js' -o -name 'go.*' \) -print)

.PHONY: tools
tools: $(TEMPORAL_CLI) devstack/node_modules/.package-lock.json .bin/devstack ## Build or fetch what the dev stack runs

$(BIN)/temporal:
	@echo "building the temporal binary $(TEMPORAL_VERSION); once, 4-5 minutes on two cores" >&2
	@GOBIN=$(BIN) go install github.com/temporalio/cli/cmd/temporal@$(TEMPORAL_VERSION)

devstack/node_modules/.package-lock.json: devstack/package-lock.json
	@echo "fetching the emulators (npm ci); once, 1-2 minutes" >&2
	@cd devstack && npm ci --loglevel=error >&2
	@touch $@

.bin/devstack: $(DEVSTACK_SOURCES)
	@echo "building the dev stack" >&2
	@cd devstack && go build -o $(BIN)/devstack .

.PHONY: up
up: tools ## Start the dev stack and leave it running
	@$(BIN)/devstack up --detach

.PHONY: down
down: ## Stop the dev stack
	@if [ -x $(BIN)/devstack ]; then $(BIN)/devstack down; fi
