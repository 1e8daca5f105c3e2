#!/bin/bash
# Both programs with 5,000 to 100,000 nodes; writes docs/performance.md anew. Half an hour.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec tests/e2e/sandbox /usr/bin/python3 tests/bench/scale.py "$1"
