"""`python -m dispatch.cli`: the program where its script is not on the path."""

from __future__ import annotations

from dispatch.cli.main import main

main()
