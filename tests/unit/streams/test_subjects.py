from __future__ import annotations

from collections.abc import Callable

import pytest

from streams import subjects

NOT_NAMES = ["", "-a", "a-", "A", "a.b", "a b", "*", ">", "ä", "a\n", "a" * 64, "_controls", "a/b", "$js"]


@pytest.mark.parametrize("name", NOT_NAMES)
def test_what_is_no_name_never_gets_into_a_subject(name: str) -> None:
    builds: tuple[Callable[[], str], ...] = (
        lambda: subjects.job(name, "llama"),
        lambda: subjects.command(name, "ana", "submit", "llama"),
        lambda: subjects.command("nlp", name, "submit", "llama"),
        lambda: subjects.receipt("nlp", name),
        lambda: subjects.wake(name, "llama"),
        lambda: subjects.timer(name, "llama"),
        lambda: subjects.agent(name, "find"),
        lambda: subjects.agent("hpc2", name),
        lambda: subjects.receipts(name),
    )
    for build in builds:
        with pytest.raises(ValueError, match="must be 1 to 63"):
            build()


def test_a_filter_over_one_tenant_is_checked_too() -> None:
    assert subjects.jobs() == "dispatch.job.*.*"
    assert subjects.jobs("nlp") == "dispatch.job.nlp.*"
    with pytest.raises(ValueError, match="tenant"):
        subjects.jobs("*")


def test_a_verb_must_be_one_of_the_eight() -> None:
    with pytest.raises(ValueError, match="must be one of submit, cancel"):
        subjects.command("nlp", "ana", "explode", "llama")


def test_what_is_spelled_is_parsed_back() -> None:
    assert subjects.parse_job(subjects.job("nlp", "llama")) == ("nlp", "llama")
    assert subjects.parse_job(subjects.job("nlp", subjects.CONTROLS)) == ("nlp", "_controls")
    address = subjects.parse_command(subjects.command("nlp", "ana", "cancel", "llama"))
    assert (address.tenant, address.actor, address.verb, address.job) == ("nlp", "ana", "cancel", "llama")


@pytest.mark.parametrize(
    "subject",
    ["", "dispatch.job", "dispatch.job.nlp", "dispatch.job.nlp.a.b", "dispatch.job.NLP.a", "xdispatch.job.a.b"],
)
def test_what_is_none_of_ours_is_not_parsed(subject: str) -> None:
    with pytest.raises(ValueError, match=r"must be|is not"):
        subjects.parse_job(subject)


def test_a_stored_subject_gives_back_the_published_one() -> None:
    for stored, published in {
        "dispatch.shard.17.command.nlp.ana.cancel.llama": subjects.command("nlp", "ana", "cancel", "llama"),
        "dispatch.shard.17.wake.nlp.llama": subjects.wake("nlp", "llama"),
    }.items():
        assert subjects.out_of_shard(stored) == published
        assert subjects.out_of_shard(published) == published


def test_a_shard_is_the_servers_own_choice() -> None:
    """FNV-1a as in its `partition`; the stream suite asks a real server, on every queue."""
    assert [subjects.shard_of("nlp", name, 64) for name in ("llama", "bert", "_controls")] == [38, 22, 0]


def test_shards_share_the_jobs_about_evenly() -> None:
    counts = [0] * 8
    for number in range(8000):
        counts[subjects.shard_of("nlp", f"job-{number}", 8)] += 1
    assert min(counts) > 800
    assert max(counts) < 1200


def test_a_key_of_a_bucket_is_words_with_dots_between() -> None:
    for key in ("nlp.llama", "nlp._controls", "_complete"):
        assert subjects.check_key(key) == key
    for wrong in ("", ".", "a..b", "a.*", ">", "A", "a b", "a." * 5 + "a"):
        with pytest.raises(ValueError, match="key"):
            subjects.check_key(wrong)
