#!/bin/bash
# plimsoll-extender against one in Go, over HTTP: latency and CPU a request, in one run. Needs
# go; says so and ends with 77 when it is missing.
# Usage: extender_peer.sh BUILD_DIRECTORY [JSON_FILE]
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! (cd tests/bench/peers/go-extender && go build -o "$work/go-extender" .); then
  echo "skipped: the Go peer cannot be built"
  exit 77
fi
/usr/bin/python3 tests/bench/extender_peer.py "$1" "$work" "${@:2}"
