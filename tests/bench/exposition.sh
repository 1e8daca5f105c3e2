#!/bin/bash
# The skim against Go's expfmt, on the same pages and one core, in one run. Needs go and the module
# proxy (tests/bench/peers/expfmt/go.mod); says so and ends with 77 when they are missing.
# Usage: exposition.sh BUILD_DIRECTORY
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$1/tests/bench/bench_exposition
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! (cd tests/bench/peers/expfmt && go build -o "$work/expfmt" .); then
  echo "skipped: the Go peer cannot be built"
  exit 77
fi
"$program" --write "$work"
"$program"
for page in node2 k8s64; do
  go_us=$(GOMAXPROCS=1 "$work/expfmt" "$work/$page"-*)
  echo "expfmt $page: $go_us us"
done
