"""A job's name on a scheduler is readable, short, and shared with no other job."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from adapters.names import scheduler_name
from streams.messages.calls import JobName
from streams.subjects import is_token

tokens = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True)
names = st.builds(JobName, installation=tokens, tenant=tokens, job=tokens)


def test_the_name_begins_with_the_jobs_own() -> None:
    name = JobName(installation="main", tenant="nlp", job="llama-7b")
    assert scheduler_name(name) == "llama-7b-18acb8ae8f0f"


@given(names)
def test_the_name_is_short_and_a_token(name: JobName) -> None:
    assert len(scheduler_name(name)) <= 53
    assert is_token(scheduler_name(name))


@given(st.lists(names, min_size=2, max_size=2, unique=True))
def test_two_jobs_never_share_a_name(pair: list[JobName]) -> None:
    assert scheduler_name(pair[0]) != scheduler_name(pair[1])
