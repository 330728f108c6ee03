"""Ways through the history: two writers, a stale view, a restore from an older copy."""

from __future__ import annotations

from dispatch.supervisor import Result
from streams.messages import commands
from tests.simulator.script import Script, appends


def a_history_restored_from_before_the_start() -> Script:
    """The object is there, its attempt is not: nothing is decided."""
    s = Script("slurm")
    s.settles(s.one, 2)
    s.world.ledger.restore(2)
    s.world.watch.restored()
    for process in s.world.processes:
        s.world.kill(process)
    s.settles(s.one, 2)
    return s


def a_history_restored_and_the_object_unseen() -> Script:
    """Neither the attempt nor its object is seen: the pair that the agent remembers tells of it."""
    s = Script("slurm")
    s.settles(s.one, 2)
    s.mishaps.hide(s.first)
    s.world.ledger.restore(2)
    s.world.watch.restored()
    for process in s.world.processes:
        s.world.kill(process)
    s.settles(s.one, 2)
    return s


def a_history_restored_and_grown_past_the_loss() -> Script:
    """Others append past the lost revision: a number alone would hide the loss."""
    s = Script("slurm")
    s.settles(s.one, 2)
    s.world.ledger.restore(2)
    s.world.watch.restored()
    s.world.ledger.noise(40)
    for process in s.world.processes:
        s.world.kill(process)
    s.holds()
    s.releases()
    s.settles(s.one, 2)
    return s


def a_history_restored_under_a_living_supervisor() -> Script:
    """What it holds is newer than the store, whose stream kept its name: its append says so, and it begins anew."""
    s = Script("slurm")
    s.settles(s.one, 2)
    s.moves_on(s.first)
    s.world.ledger.restore(2)
    s.world.watch.restored()
    for process in s.world.processes:
        process.generation = s.world.ledger.generation
    s.passes(s.one)
    assert s.world.last_pass is not None
    assert s.world.last_pass.result is Result.REGRESSED
    assert s.one.held.empty
    s.settles(s.one, 2)
    return s


def a_writer_of_before_the_restore() -> Script:
    """Its append is on its way as the store is restored, and a cancel takes the revision that it expects."""
    s = Script("slurm")
    s.settles(s.one)
    first = s.wakes(s.one)
    intent = s.until(first, appends("CallCommitted", "open"))
    s.world.ledger.restore(len(s.world.ledger.entries) - 1)
    s.world.watch.restored()
    s.world.kill(s.two)
    s.world.operators.publish(commands.CancelJob(**s.base()))
    s.two.receive(s.world.operators.waiting()[0])
    s.ends(next(task for task in s.world.tasks if task.what == "command"))
    s.lands(intent)
    s.answers(intent)
    s.rest()
    s.settles(s.two, 3)
    return s


def two_supervisors_and_one_revision() -> Script:
    """Both decide from one revision: the store takes one."""
    s = Script("slurm")
    first, second = s.wakes(s.one), s.wakes(s.two)
    a = s.until(first, appends("SubmissionAuthorized"))
    b = s.until(second, appends("SubmissionAuthorized"))
    s.lands(a)
    s.lands(b)
    s.ends(first)
    s.ends(second)
    s.rest()
    return s


def a_find_made_before_the_record_is_read() -> Script:
    """Another supervisor starts an object after this one's Find: what it decides must not rest on that Find."""
    s = Script("slurm")
    s.settles(s.one)
    first = s.wakes(s.one)
    open_intent = s.until(first, appends("CallCommitted", "open"))
    assert open_intent is not None
    s.ends(first)
    s.rest()
    return s


def an_intent_that_nobody_confirmed() -> Script:
    """Whether the intent to open was stored is not known: nothing is sent on its strength."""
    s = Script("slurm")
    s.settles(s.one)
    first = s.wakes(s.one)
    s.loses(s.until(first, appends("CallCommitted", "open")))
    s.rest()
    return s


def an_open_without_an_answer() -> Script:
    """One intent, one send; an Open whose answer was lost is followed by a new one, once it is over."""
    s = Script("slurm")
    s.settles(s.one)
    s.passes(s.one)
    late = s.sent("open")
    s.loses(late)
    s.rest()
    s.settles(s.two, 2)
    s.waits(120)
    s.settles(s.two, 2)
    return s


def a_cancel_between_the_look_and_the_open() -> Script:
    """The pass has seen all that the gate needs; a person cancels before its intent is stored."""
    s = Script("slurm")
    s.settles(s.one)
    first = s.wakes(s.one)
    intent = s.until(first, appends("CallCommitted", "open"))
    s.world.operators.publish(commands.CancelJob(**s.base()))
    s.two.receive(s.world.operators.waiting()[0])
    s.ends(next(task for task in s.world.tasks if task.what == "command"))
    s.lands(intent)
    s.ends(first)
    s.settles(s.two, 3)
    return s
