"""`python3 -m exporters`, from tests/integration."""

from .program import main

main()
