# Two targets are all that one needs: demo and test. Each sets up what it needs by itself.

GO ?= go

# What only a debugger reads takes a tenth of the time to compile and half of the time to link. Stack traces and profiles do not need it.
export GOFLAGS := $(strip $(or $(GOFLAGS),$(shell $(GO) env GOFLAGS 2>/dev/null)) -gcflags=all=-dwarf=false -ldflags=-w)

# What runs it, so that an interrupted build leaves nothing behind.
RUN_GO = GO=$(GO) scripts/go.sh

# What the demonstration runs, and where its report goes: all five designs on every scenario, of few sizes, within four minutes on two
# cores. Five runs are the fewest that show a difference. The trace is a real one where a folder with some is at hand, and generated
# otherwise.
DEMO_OUT ?= out/demo
PULLEY_WFINSTANCES ?= ../shared/wfinstances
DEMO_TRACES ?= $(firstword $(sort $(wildcard $(PULLEY_WFINSTANCES)/*.json)))
DEMO_FLAGS ?= fanout=10,500 loop=32 spread=100 chain=10,100 diamond=4,64 pipeline=32 trace --quick --out $(DEMO_OUT) \
	--backends push,journal,eager,pull,pull:scan=sql --runs 5 --min-nodes 300 --time-scale 0.00005 $(addprefix --trace ,$(DEMO_TRACES))

# How long one package's tests may take.
TEST_TIMEOUT ?= 60m
TEST_FLAGS ?=

# What is said to pulley claims, such as --quick, --goals or --only loop.
CLAIMS_FLAGS ?=

# How long each fuzz target runs. What it finds that is new is kept in Go's cache; what fails, in testdata.
FUZZ_TIME ?= 10m

.DEFAULT_GOAL := help
.PHONY: help demo check test flakes matrix nightly bench claims chaos sim-coverage mutants fuzz soak-language peers adapters module setup image clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

demo: ## Compare all five designs on every scenario, and write a report
	@scripts/setup.sh postgres
	$(RUN_GO) run ./cmd/pulley compare $(DEMO_FLAGS)

# What runs the tests. It is built with the race detector, like the tests themselves, so that nothing is compiled twice.
SUITE = out/bin/suite

check: ## Check the format and the code, and run every test that needs neither Postgres nor a second process
	@scripts/setup.sh scripts
	@$(RUN_GO) build -o $(SUITE)-check ./cmd/suite
	@$(SUITE)-check check

test: ## Run every test, on a real Postgres, with the race detector where goroutines meet
	@scripts/setup.sh compiler postgres ci
	@CGO_ENABLED=1 $(RUN_GO) build -race -o $(SUITE) ./cmd/suite
	@$(SUITE) test --timeout $(TEST_TIMEOUT) --flags='$(TEST_FLAGS)'

# How many times flakes runs all tests.
N ?= 20

flakes: ## Run all tests N times, every other time on a busy machine, and list what was not green every time
	@scripts/setup.sh compiler postgres ci
	@CGO_ENABLED=1 $(RUN_GO) build -race -o $(SUITE) ./cmd/suite
	@$(SUITE) flakes --n $(N)

# How long the night is. NIGHT_FLAGS=--only=seeds,chaos chooses parts, which share it; with --goals the part chaos runs until enough
# went wrong: 10,000 cuts, 5,000 kills, 1,000 lost replies, 1,000 ended sessions, 100 crashes, every message.
NIGHT ?= 5h
NIGHT_FLAGS ?=

# The versions of Postgres that matrix has the designs on.
VERSIONS ?= 13 15 17 18

matrix: ## Run the designs on several versions of Postgres, over TLS and through PgBouncer; as root, in half an hour
	@scripts/setup.sh compiler postgres ci
	@GO=$(GO) scripts/matrix.sh $(VERSIONS)

nightly: ## Run all that is deep, for NIGHT=30m, 2h or 8h, each night from where the last one stopped; out/nightly/report.html
	@scripts/setup.sh compiler postgres scripts ci
	@$(RUN_GO) build -o $(SUITE)-night ./cmd/suite
	@$(SUITE)-night nightly --night $(NIGHT) $(NIGHT_FLAGS)

# What the image is called, and what it gets besides pulley, such as IMAGE_PACKAGES=python3,curl.
IMAGE ?= pulley
IMAGE_PACKAGES ?=

image: ## Make a container image of pulley on Debian, without a registry; as root, in two minutes; IMAGE, IMAGE_PACKAGES
	@GO=$(GO) PULLEY_IMAGE_PACKAGES=$(IMAGE_PACKAGES) packaging/image.sh $(IMAGE)

bench: ## Run the Go benchmarks
	@scripts/setup.sh postgres
	$(RUN_GO) test -run '^$$' -bench . -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./...

claims: ## Hold published claims against measurements; CLAIMS_FLAGS=--goals for our own
	@scripts/setup.sh postgres
	$(RUN_GO) run ./cmd/pulley claims $(CLAIMS_FLAGS)

# The backends that make chaos goes over, one after the other, and what else is said to pulley chaos.
CHAOS_BACKENDS ?= push journal eager pull pull:scan=sql
CHAOS_FLAGS ?= --duration 30s
CHAOS_OUT ?= out/chaos

chaos: ## Run every backend while connections, processes and Postgres fail; CHAOS_FLAGS, CHAOS_BACKENDS
	@scripts/setup.sh postgres
	$(RUN_GO) build -o $(CHAOS_OUT)/pulley ./cmd/pulley
	@for b in $(CHAOS_BACKENDS); do $(CHAOS_OUT)/pulley chaos --backend $$b --out $(CHAOS_OUT)/$$b $(CHAOS_FLAGS) || exit 1; done

# How many seeds of each design are played for the coverage of what decides.
SIM_SEEDS ?= 0..9999
SIM_OUT ?= out/sim
SIM_COVERED = pulley/engine/plan,pulley/engine/dispatch,pulley/engine/backend/state,pulley/internal/pgstore,$\
	pulley/engine/backend/postgres/push,pulley/engine/backend/postgres/eager,pulley/engine/backend/postgres/pull,$\
	pulley/engine/backend/postgres/journal,pulley/engine/backend/postgres/journal/internal/ownership,pulley/engine/backend/postgres/journal/internal/forward

sim-coverage: ## Play simulations of every design on Postgres, and name the lines of these, and of what decides, that they never reach; SIM_SEEDS
	$(RUN_GO) build -cover -coverpkg=./cmd/pulley,$(SIM_COVERED) -o $(SIM_OUT)/pulley ./cmd/pulley
	rm -rf $(SIM_OUT)/covered && mkdir -p $(SIM_OUT)/covered
	for b in push eager journal pull pull:scan=sql; do GOCOVERDIR=$(SIM_OUT)/covered $(SIM_OUT)/pulley sim --backends $$b --seeds $(SIM_SEEDS) --out $(SIM_OUT) || exit 1; done
	$(RUN_GO) tool covdata textfmt -i $(SIM_OUT)/covered -pkg $(SIM_COVERED) -o $(SIM_OUT)/lines.txt
	$(RUN_GO) run ./sim/lines $(SIM_OUT)/lines.txt

# How many searches look for each bug, each in seeds of its own.
SIM_SEARCHES ?= 10

sim-bugs: ## Plant bugs in the designs that simulations play, and in the core, and tell how many seeds it took to find each; SIM_SEARCHES
	$(RUN_GO) build -o $(SIM_OUT)/pulley ./cmd/pulley
	$(SIM_OUT)/pulley sim --backends all --bug all --runs $(SIM_SEARCHES) --seeds 0..32767 --out $(SIM_OUT)
	$(RUN_GO) run ./chaos/mutants --sim $(SIM_SEARCHES)

# What is said to the planter of bugs, such as --only river or --format json.
MUTANTS_FLAGS ?=

mutants: ## Plant bugs in the engine, one at a time, and show that the checks find each
	@scripts/setup.sh postgres
	$(RUN_GO) run ./chaos/mutants $(MUTANTS_FLAGS)

fuzz: ## Fuzz everything that reads what others wrote, FUZZ_TIME each
	@$(RUN_GO) build -o $(SUITE)-night ./cmd/suite
	@$(SUITE)-night fuzz --time $(FUZZ_TIME)

# How many programs soak-language runs in memory, and what else is said to it, such as -rapid.seed=7. The
# designs on Postgres get a tenth of them.
SOAK_PROGRAMS ?= 50000
SOAK_FLAGS ?=

soak-language: ## Hold every backend against the reference on generated programs
	@scripts/setup.sh postgres
	$(RUN_GO) test ./engine/backend/differ -run '^TestPrograms$$' -v -timeout 0 -programs $(SOAK_PROGRAMS) $(SOAK_FLAGS)

# What is compared with other people's systems, and how; see pulley compare --help. A search for what makes each fastest takes longer
# than the runs: --no-tune leaves it out.
PEERS ?= fanout=100 chain=10 loop=32 chain=1
PEERS_FLAGS ?= --systems push,journal,river,temporal,dbos,goworkflows,gue,pgq --runs 3 --out out/peers

peers: adapters ## Compare ours with the systems in adapters/, all through the same door (takes most of an hour)
	@scripts/setup.sh postgres
	$(ADAPTERS_OUT)/pulley compare $(PEERS) $(PEERS_FLAGS)

# The folder of a pulley and of the adapters, which it looks for in its own folder.
ADAPTERS_OUT ?= out/bin

adapters: ## Build pulley, and an adapter for each system in adapters/, into one folder (the first build takes minutes); ADAPTERS_OUT
	@GO=$(GO) scripts/adapters.sh '$(ADAPTERS_OUT)'

# The path under which others import the module.
MODULE ?=

module: ## Give the module the path MODULE=example.org/team/pulley, everywhere it is named, and test the result
	@scripts/module.sh '$(MODULE)'
	@$(MAKE) check

setup: ## Install what demo and test need, if it is missing
	@scripts/setup.sh

clean: ## Remove what the runs wrote
	rm -rf out
