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

TYPESCRIPT := tests/e2e/languages/typescript

.PHONY: typescript
typescript: $(TYPESCRIPT)/node_modules/.package-lock.json ## Fetch what the jobs in TypeScript run on, which tests only need

$(TYPESCRIPT)/node_modules/.package-lock.json: $(TYPESCRIPT)/package-lock.json
	@echo "fetching Temporal's SDK for TypeScript (npm ci); once, half a minute" >&2
	@cd $(TYPESCRIPT) && npm ci --loglevel=error >&2
	@touch $@

.bin/devstack: $(DEVSTACK_SOURCES)
	@echo "building the dev stack" >&2
	@cd devstack && go build -o $(BIN)/devstack .

.PHONY: up
up: tools build ## Start the dev stack and leave it running
	@$(BIN)/devstack up --detach

.PHONY: down
down: ## Stop the dev stack
	@if [ -x $(BIN)/devstack ]; then $(BIN)/devstack down; fi

GOLANGCI_LINT_VERSION := v2.6.2
WORKFLOWCHECK_VERSION := v0.6.0
DEADCODE_VERSION := v0.52.0

$(BIN)/golangci-lint:
	@echo "building golangci-lint $(GOLANGCI_LINT_VERSION); once, 2-3 minutes" >&2
	@GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

$(BIN)/workflowcheck:
	@echo "building workflowcheck $(WORKFLOWCHECK_VERSION); once, half a minute" >&2
	@GOBIN=$(BIN) go install go.temporal.io/sdk/contrib/tools/workflowcheck@$(WORKFLOWCHECK_VERSION)

$(BIN)/deadcode:
	@GOBIN=$(BIN) go install golang.org/x/tools/cmd/deadcode@$(DEADCODE_VERSION)

# promtool is Debian's; the package is taken apart and not installed, so that no server
# is started.
.PHONY: promtool
promtool: ## Fetch promtool, by which tests check metrics and alerts, where apt-get can
	@command -v promtool >/dev/null || [ -x $(BIN)/promtool ] || { \
	  fetched=$$(mktemp -d) && trap 'rm -rf "$$fetched"' EXIT && chmod 755 "$$fetched" && cd "$$fetched" && \
	  apt-get download -q prometheus >/dev/null && dpkg -x prometheus_*.deb . && \
	  mkdir -p $(BIN) && cp usr/bin/promtool $(BIN)/promtool; }

.PHONY: chromium
chromium: ## Install Chromium, by which tests look at the Web UI, where apt-get can
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
	  apt-get update -q >/dev/null && apt-get install -q -y --no-install-recommends chromium >/dev/null; }

.PHONY: pictures
pictures: tools build chromium ## Take the pictures of the Web UI that docs show
	@SLUICE_PICTURES=$(CURDIR)/docs/pictures go test -count 1 -run TestPagesInAChromium ./tests/e2e/webui

.PHONY: build
build: ## Build worker and starter into .bin
	@go build -o $(BIN)/worker ./worker
	@go build -o $(BIN)/starter ./starter

.PHONY: check
check: $(BIN)/golangci-lint $(BIN)/workflowcheck $(BIN)/deadcode ## Formatting, vet, linters, workflow determinism, code that nobody calls, links of the pages
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "not gofmt-ed: $$unformatted" >&2; exit 1; fi
	go vet ./...
	cd devstack && go vet ./...
	$(BIN)/golangci-lint run ./...
	cd devstack && $(BIN)/golangci-lint run --config ../.golangci.yml ./...
	$(BIN)/workflowcheck -config workflowcheck.config.yaml ./workflows/...
	@unused=$$($(BIN)/deadcode -test ./... | grep -v /example_test.go:); if [ -n "$$unused" ]; then echo "nobody calls: $$unused" >&2; exit 1; fi
	go test ./tests/docs

.PHONY: charts
charts: ## Draw the charts of docs/ from their texts (needs Graphviz)
	@for chart in docs/charts/*.dot; do dot -Tsvg $$chart -o $${chart%.dot}.svg; done

.PHONY: schema
schema: ## Write docs/schema anew from the types that decode the documents
	@go test -count 1 -run TestSchemasAreUpToDate ./docs/schema -update

.PHONY: test
test: tools typescript build check ## Run every test, those against the dev stack included
	@failed=0; \
	run() { echo "$$*" >&2; "$$@" || failed=1; }; \
	run go test $(TESTFLAGS) -race -timeout 10m . ./internal/... ./activities/... ./workflows/... ./worker/... ./starter/...; \
	(cd devstack && go test $(TESTFLAGS) -timeout 10m ./...) || failed=1; : "with -race kumo's hundred services would be compiled twice"; \
	run go test $(TESTFLAGS) -p 2 -timeout 40m -count 1 ./tests/...; : "two dev stacks at a time: they wait more than they work"; \
	exit $$failed

.PHONY: demo
demo: tools build ## Run the main job on real data, from nothing to its end (KEEP=1 leaves it up)
	@$(BIN)/devstack demo $(if $(KEEP),--keep)

.PHONY: bench-requests
bench-requests: tools build ## Measure requests; the last line is JSON
	@go run ./tests/bench/requests

.PHONY: record
record: tools build ## Record histories of scenarios that have none yet
	SLUICE_RECORD=1 go test $(TESTFLAGS) -p 1 -timeout 20m -count 1 ./tests/...

.PHONY: bench-quiescence
bench-quiescence: tools build ## Compare the rule of quiescence with the original; the rate of counting
	@go run ./tests/bench/quiescence

.PHONY: soak-quiescence
soak-quiescence: tools build ## Watch 100,000 objects on the emulator; 2 minutes, far more on a busy machine
	SLUICE_LARGE=1 go test -run TestHundredThousandObjects -v -count 1 -timeout 60m ./tests/e2e/quiescence

.PHONY: bench-dynamodb
bench-dynamodb: tools build ## Measure DynamoDB calls under a throttle beside the SDK's retryers; about 8 minutes
	@go run ./tests/bench/dynamodb

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: soak
soak: tools build ## Fail workers, server and services under every system in turn and all at once (KILLS=200, SEED=n: the same faults), after all have slept for ten minutes; the last line is JSON
	SLUICE_ASLEEP=10m go test -run TestIngestOnAMachineThatSleeps -v -count 1 -timeout 60m ./tests/faults/ingest
	@SLUICE_SOAK_KILLS=$(or $(KILLS),200) SLUICE_SOAK_SEED=$(SEED) SLUICE_SOAK_OUTPUT=$(BIN)/soak.json \
	go test -run TestSystemsSurviveFaults -v -count 1 -timeout 180m ./tests/soak; status=$$?; cat $(BIN)/soak.json; exit $$status

.PHONY: hostile
hostile: tools build ## Send a worker 10,000 documents that nobody should send; about 10 minutes
	SLUICE_HOSTILE=5000 go test -run TestHostile -v -count 1 ./docs/schema
	SLUICE_HOSTILE=10000 go test -v -count 1 -timeout 60m ./tests/e2e/hostile

.PHONY: mutate
mutate: ## Change workflows and rules in 24 places, each to be noticed by a test; 3-10 minutes (SEED=n: other places)
	@go run ./tests/mutation -seed $(or $(SEED),1)

.PHONY: bench-fleet
bench-fleet: tools build ## Measure how large a fleet one budget serves; about 10 minutes; the last line is JSON
	@go run ./tests/bench/fleet

.PHONY: bench-fleet-simulated
bench-fleet-simulated: ## Fleets of up to ten thousand in one process, without a server; about 2 minutes
	@go run ./tests/bench/fleet -fleets ""

.PHONY: bench-claim
bench-claim: tools build ## Claiming beside the bare start of the same Tasks, and 10,000 tasks with 3 kills
	@SLUICE_BENCH=1 SLUICE_BENCH_OUTPUT=$(BIN)/bench-claim.json go test -run TestBenchClaim -v -count 1 -timeout 60m ./tests/bench/claiming
	@cat $(BIN)/bench-claim.json

.PHONY: bench-kinesis
bench-kinesis: $(TEMPORAL_CLI) ## Measure the Kinesis producer beside its baselines; the last line is JSON
	@go build -o $(BIN)/bench-kinesis ./tests/bench/kinesis
	@$(BIN)/bench-kinesis

.PHONY: bench-cost
bench-cost: tools build ## Count Actions of all that waits and works; 25 minutes; the last line is JSON
	@go run ./tests/bench/cost $(if $(SHORT),-short)

.PHONY: bench-reach
bench-reach: tools build ## Measure how far one claimer, producer and 10,000 suspended requests go; about 5 minutes; the last line is JSON
	@go run ./tests/bench/reach

FUZZTIME ?= 30s

.PHONY: fuzz
fuzz: ## Fuzz every decoder, expression and reader, FUZZTIME (30s) each
	@grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9]+' activities internal workflows starter worker | \
	sed -E 's|/[^/]*:[0-9]+:func | |' | while read -r package name; do \
		echo "$$package $$name" >&2; \
		go test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) "./$$package" || exit 1; \
	done

.PHONY: load
load: tools build ## 1,000 requests, 100 watches, 4 claimers, tables and streams at once for 10 minutes (FOR=3m); the last line is JSON
	@go run ./tests/bench/load $(if $(FOR),-for $(FOR))
