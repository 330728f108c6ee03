"""Every checker there is."""

from __future__ import annotations

from tests.simulator.laws.authorized import NothingUnauthorizedRuns
from tests.simulator.laws.cancelled import ACancelIsFinal
from tests.simulator.laws.canonical import CanonicalOnce
from tests.simulator.laws.chain import NoStaleDecision
from tests.simulator.laws.ends import AbsenceIsNoEnd
from tests.simulator.laws.evidence import EvidenceIsNeverRefused
from tests.simulator.laws.forgotten import NothingIsForgotten
from tests.simulator.laws.intents import NoCallWithoutIntent
from tests.simulator.laws.late import LateCallsUndoNothing
from tests.simulator.laws.law import Law
from tests.simulator.laws.once import NeverTwoAtOnce
from tests.simulator.laws.ownership import DecidedOnWhatWasRead
from tests.simulator.laws.readable import WhatCannotBeReadStopsDecisions
from tests.simulator.laws.regression import NothingDecidedOnALostHistory
from tests.simulator.laws.state import NoStateOutsideTheHistory
from tests.simulator.laws.wakeups import WakeUpsDecideNothing

LAWS: tuple[type[Law], ...] = (
    NothingUnauthorizedRuns,
    ACancelIsFinal,
    NothingIsForgotten,
    NeverTwoAtOnce,
    NoStaleDecision,
    EvidenceIsNeverRefused,
    NoCallWithoutIntent,
    CanonicalOnce,
    AbsenceIsNoEnd,
    LateCallsUndoNothing,
    NoStateOutsideTheHistory,
    DecidedOnWhatWasRead,
    WakeUpsDecideNothing,
    NothingDecidedOnALostHistory,
    WhatCannotBeReadStopsDecisions,
)
