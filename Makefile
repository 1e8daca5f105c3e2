# Thin: every target is one script. `make demo` and `make test` install what they need first.
BUILD ?= build

.PHONY: help build demo test e2e ci check bench fuzz format clean

help:
	@echo 'make demo     look at it: a real exporter, a stand-in API server, both programs (DEMO=once ends by itself)'
	@echo 'make test     make check, then the integration tests'
	@echo 'make e2e      both programs with real Kubernetes; its first run builds that, for minutes'
	@echo 'make ci       what CI runs: make test and make e2e, counted together'
	@echo 'make check    the gate: format, lint, gcc and clang, sanitizers, unit tests, fuzz corpora'
	@echo 'make build    both programs, into $(BUILD)/'
	@echo 'make bench    compare the hot paths with their peers, in ratios'
	@echo 'make fuzz     run every fuzz target for FUZZ_SECONDS=60 each'
	@echo 'make format   apply the formatters'

build:
	@tests/tools/install-packages build
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --buildtype=release
	@ninja -C $(BUILD)

demo:
	@tests/tools/install-packages build demo
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --buildtype=release >$(or $(TMPDIR),/tmp)/plimsoll-setup.log || { cat $(or $(TMPDIR),/tmp)/plimsoll-setup.log; exit 1; }
	@ninja -C $(BUILD) --quiet
	@/usr/bin/python3 tests/demo/demo.py --build $(BUILD) $(if $(DEMO),--$(DEMO))

test:
	@tests/tools/install-packages build check integration
	@/usr/bin/python3 tests/tools/gate.py check integration

e2e:
	@tests/tools/install-packages build check e2e
	@/usr/bin/python3 tests/tools/gate.py e2e

ci:
	@tests/tools/install-packages build check integration e2e
	@/usr/bin/python3 tests/tools/gate.py check integration e2e

check:
	@tests/tools/install-packages build check
	@/usr/bin/python3 tests/tools/gate.py check

bench:
	@tests/tools/install-packages build bench
	@tests/tools/bench

fuzz:
	@tests/tools/install-packages build check
	@tests/tools/fuzz $(or $(FUZZ_SECONDS),60)

format:
	@tests/tools/install-packages check
	@tests/tools/format --apply

clean:
	rm -rf $(BUILD) build-*
