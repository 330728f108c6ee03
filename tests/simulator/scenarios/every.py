"""The shortest known way in which each marked rule's absence breaks a law, played on the real code.

With the rule in place the same story breaks none. The ways were found by an exhaustive model of the protocol, by
this simulator, or are told in the design. A story's second member names the planted bugs that it must show; those of
`of_people`, `of_the_rules` and `of_what_it_can` show none: they go where runs of the seed do not come, or hardly.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.simulator.scenarios import (
    of_people,
    of_the_end,
    of_the_history,
    of_the_rules,
    of_what_it_can,
    on_kubeflow,
    on_slurm,
)
from tests.simulator.script import Script

Story = Callable[[], Script]
STORIES: tuple[tuple[Story, tuple[str, ...]], ...] = (
    (on_slurm.an_open_that_is_late_meets_a_requeue, ("requeue-while-an-open-may-land",)),
    (on_slurm.an_object_seen_ended_runs_again_beside_the_next, ("gate-by-recorded-ends",)),
    (on_slurm.processes_live_on_a_lost_node, ("gate-ignores-processes", "unknown-processes-taken-as-gone")),
    (on_slurm.a_requeue_in_place_over_a_lost_node, ("gate-ignores-earlier-runs",)),
    (on_slurm.a_plain_requeue_lands_late_on_an_ended_object, ("gate-ignores-requeues-and-their-ends",)),
    (on_slurm.a_cancel_beside_a_requeue_on_its_way, ("cancel-without-second-stop",)),
    (
        on_slurm.a_cancel_beside_a_start_on_its_way,
        ("clean-up-complete-while-a-start-may-land", "settled-while-a-start-may-land"),
    ),
    (of_the_end.an_end_seen_while_a_requeue_can_land, ("end-seen-before-a-requeue-was-over",)),
    (of_the_end.a_requeue_lands_in_the_gate, ("requeue-not-into-the-gate",)),
    (of_the_end.a_cancel_of_a_run_that_ends_slowly, ("clean-up-complete-without-a-find",)),
    (of_the_end.a_run_that_goes_on_after_word_on_its_processes, ("evidence-covers-a-later-execution",)),
    (of_the_history.a_find_made_before_the_record_is_read, ("find-before-read",)),
    (on_slurm.a_hold_that_is_placed_while_an_open_is_on_its_way, ("hold-judged-while-a-call-may-land",)),
    (on_slurm.an_open_while_a_hold_is_in_force, ("gate-opens-while-held",)),
    (on_slurm.a_release_at_the_gate, ("release-sent-at-the-gate",)),
    (of_the_history.a_history_restored_from_before_the_start, ("regression-guard-off",)),
    (of_the_history.a_history_restored_and_the_object_unseen, ("regression-judged-without-the-floor",)),
    (of_the_history.a_history_restored_and_grown_past_the_loss, ("regression-judged-by-number-alone",)),
    (
        on_slurm.a_hold_asked_anew_while_a_release_is_on_its_way,
        ("hold-judged-while-a-call-may-land", "hold-placed-while-an-earlier-call-may-land"),
    ),
    (on_slurm.a_release_asked_while_the_hold_is_on_its_way, ("released-while-a-hold-may-land",)),
    (on_slurm.a_hold_asked_anew_before_the_last_was_released, ("release-while-another-hold-is-in-force",)),
    (
        on_slurm.a_start_without_an_answer_beside_a_clock_that_is_ahead,
        ("over-by-the-supervisors-clock", "given-up-before-its-start-is-over"),
    ),
    (on_slurm.a_start_that_never_lands, ("closed-submission-goes-on",)),
    (of_the_history.an_intent_that_nobody_confirmed, ("undecided-append-taken-for-accepted",)),
    (of_the_history.an_open_without_an_answer, ("call-sent-twice", "open-sent-again-under-an-old-intent")),
    (of_the_history.a_cancel_between_the_look_and_the_open, ("open-without-a-re-read",)),
    (on_kubeflow.a_jobset_goes_beside_the_next_submission, ("ended-object-not-stopped",)),
    (on_kubeflow.pods_that_come_between_the_list_and_the_write, ("write-without-the-version",)),
    (on_kubeflow.an_admission_on_its_way_when_its_submission_is_replaced, ("stop-that-leaves-the-version",)),
    (on_kubeflow.an_object_stopped_before_its_controllers_have_seen_it, ("chain-not-closed",)),
    (on_kubeflow.a_foreign_pod_that_only_the_list_shows, ("pods-of-one-object-listed", "pods-not-listed")),
    (on_kubeflow.a_pod_that_comes_and_is_told_to_stop_before_the_read, ("pods-listed-before-the-read",)),
    (on_kubeflow.an_undecided_admission, ("admission-number-not-raised",)),
    (on_kubeflow.kueue_admits_an_evicted_object_again, ("kueue-without-the-pod-fence",)),
    (of_the_history.a_history_restored_under_a_living_supervisor, ()),
    (of_the_history.a_writer_of_before_the_restore, ("older-writers-append",)),
    (of_the_history.two_supervisors_and_one_revision, ("append-without-expectation",)),
    *((story, ()) for story in (*of_people.TOLD, *of_the_rules.TOLD, *of_what_it_can.TOLD)),
)
