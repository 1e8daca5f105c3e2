"""`python3 -m standin`, from tests/integration."""

from .program import main

main()
