#!/bin/bash
# plimsoll-controller as it runs: CPU and memory with 1,000 and 5,000 nodes.
# Usage: controller.sh BUILD_DIRECTORY [controller_cost.py's options]
set -euo pipefail
exec /usr/bin/python3 "$(dirname "$0")/controller_cost.py" "$@"
