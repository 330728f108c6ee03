"""Events folded a second on one core, decoding included, beside msgspec alone on the same bytes."""

from __future__ import annotations

import msgspec

from bench.figure import Figure, best_cpu_s
from bench.histories import TENANT, entry_of, histories, name_of, settled_history
from projections.evolve import empty, fold
from streams.messages.events import Envelope

JOBS = 400
ROUNDS = 7


async def measure() -> Figure:
    """Whole histories of settled jobs, fourteen events each, from bytes to record."""
    model = await settled_history()
    stored = list(histories(model, JOBS))
    jobs = [stored[at : at + len(model)] for at in range(0, len(stored), len(model))]
    decoder = msgspec.json.Decoder(Envelope)
    untyped = msgspec.json.Decoder()

    def ours() -> None:
        for number, history in enumerate(jobs):
            assert fold(empty(TENANT, name_of(number)), map(entry_of, history)).settled

    def decoded() -> None:
        for each in stored:
            decoder.decode(each.data)

    def parsed() -> None:
        for each in stored:
            untyped.decode(each.data)

    ours_s, decoded_s, parsed_s = best_cpu_s(ROUNDS, ours, decoded, parsed)
    return Figure(
        name="folds",
        what="events folded a second and core, decoding included",
        value=len(stored) / ours_s,
        unit="events/s",
        bar=200_000,
        parts={
            "typed_decodes_per_s": len(stored) / decoded_s,
            "plain_json_parses_per_s": len(stored) / parsed_s,
            "folds_per_typed_decode": decoded_s / ours_s,
            "event_bytes": sum(len(each.data) for each in stored) / len(stored),
        },
    )
