"""`/usr/bin/python3 tests/integration/exporters/main.py`, from anywhere; see program.py."""

import os
import sys

# As a script the first entry is this directory, whose modules must not stand for top-level ones.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from exporters.program import main  # noqa: E402

main()
