"""What replicas log is not what a simulation is read by."""

from __future__ import annotations

import logging

import structlog


def silence(*, for_good: bool = False) -> None:
    """Log nothing from here on. `for_good`: a program's loggers need no second look at the set-up, which takes time."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL), cache_logger_on_first_use=for_good
    )
