# Thin: every target is one script. `make demo` and `make test` install what they need first.
BUILD ?= build
GATE = /usr/bin/python3 tests/tools/gate.py

.PHONY: help build demo quick test e2e ci nightly check arena bench coverage fuzz format mutants placement release in-container clean

help:
	@echo 'make demo     look at it: a real exporter, a stand-in API server, both programs (DEMO=once ends by itself,'
	@echo '              DEMO=crane is by policy/crane.yaml; DEMO="once crane" is both)'
	@echo 'make test     unit and integration tests'
	@echo 'make quick    what your change is about: the unit tests that it relinks, changed integration files, the pages'
	@echo 'make e2e      both programs with real Kubernetes; its first run builds that, for minutes'
	@echo 'make ci       what CI runs: make check, make test and make e2e, counted together'
	@echo 'make nightly  make ci in full size, with the long runs, the fuzzers, other processors, a bare Debian, mutants, coverage: hours; PART=2: one of 8 parts'
	@echo 'make check    what needs no running program: format, lint, builds, sanitizers, unit tests, clang-tidy'
	@echo 'make build    both programs, into $(BUILD)/'
	@echo 'make bench    compare with peers, and write tests/bench/results.md anew (BENCH=quick: 3 minutes, no page)'
	@echo 'make placement  simulate which nodes get the pods, and write docs/placement.md: an hour'
	@echo 'make arena    the same pods for several real schedulers, yours by path (docs/arena.md): hours'
	@echo 'make release  what users install, of the last commit, into dist/: five minutes, and as root (deploy/release/README.md)'
	@echo 'make coverage what the tests reach of each library (COVERAGE=quick: unit tests and fuzz corpora only)'
	@echo 'make fuzz     run every fuzz target for FUZZ_SECONDS=60 each'
	@echo 'make mutants  small changes in what decides about nodes, and whether unit tests notice'
	@echo 'make format   apply the formatters'
	@echo 'make in-container TARGET=test  any of these in a Debian 12 by podman or docker, where this machine is another'
	@echo 'With PLIMSOLL_NO_INSTALL=1, and without apt-get, nothing is installed: what is missing is named.'

build:
	@tests/tools/install-packages build
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --buildtype=release
	@ninja -C $(BUILD)

demo:
	@tests/tools/install-packages build demo
	@tests/tools/build-programs $(BUILD)
	@/usr/bin/python3 tests/demo/demo.py --build $(BUILD) $(addprefix --,$(DEMO))

quick:
	@tests/tools/install-packages build check integration
	@$(GATE) quick

test:
	@tests/tools/install-packages build check integration
	@$(GATE) unit integration

e2e:
	@tests/tools/install-packages build check integration e2e
	@$(GATE) images e2e alone

ci:
	@tests/tools/install-packages build check integration e2e
	@$(GATE) unit tidy images integration e2e alone

nightly:
	@tests/tools/install-packages build check integration e2e cross coverage release release-check
	@PLIMSOLL_NIGHTLY=1 $(GATE) nightly $(PART)

check:
	@tests/tools/install-packages build check
	@$(GATE) unit tidy

bench:
	@tests/tools/install-packages build bench e2e
	@tests/tools/bench

coverage:
	@tests/tools/install-packages build check integration coverage
	@$(GATE) coverage

fuzz:
	@tests/tools/install-packages build check
	@$(GATE) fuzz

mutants:
	@tests/tools/install-packages build check
	@/usr/bin/python3 tests/tools/mutants.py

placement:
	@tests/tools/install-packages build
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --buildtype=release
	@ninja -C $(BUILD) --quiet tests/placement/placement
	@/usr/bin/python3 tests/placement/page.py $(BUILD)

arena:
	@tests/tools/install-packages build integration e2e
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --buildtype=release
	@ninja -C $(BUILD) --quiet
	@tests/e2e/tools/build.py
	@PLIMSOLL_RELEASE_DIR=$(abspath $(BUILD)) tests/e2e/sandbox /usr/bin/python3 tests/e2e/arena.py \
		$(if $(RUNS),--runs=$(RUNS)) $(if $(PACE),--pace=$(PACE)) $(if $(WARM),--warm=$(WARM)) \
		$(if $(AT_ONCE),--at-once=$(AT_ONCE)) $(if $(SCENARIOS),--scenarios="$(SCENARIOS)") \
		$(if $(ONLY),--only="$(ONLY)") $(if $(TRACES),--traces=$(TRACES)) $(BUILD)/arena $(SCHEDULER)

release:
	@tests/tools/install-packages release
	@/usr/bin/python3 deploy/release/release.py dist

format:
	@tests/tools/install-packages check
	@tests/tools/format --apply

in-container:
	@tests/tools/in-container $(TARGET)

clean:
	rm -rf $(BUILD) build-*
