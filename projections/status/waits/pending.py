"""What a scheduler's own reason for not starting something means: which of the four natures.

Slurm's reasons are words without blanks, Kueue's and local's are sentences. A word that is not known counts as a wait that
ends by itself: the scheduler goes on looking.
"""

from __future__ import annotations

import re

from projections.status.view import Nature

NEVER = re.compile(
    r"PartitionNodeLimit|PartitionTimeLimit|PerJob|QOSMin|BadConstraints|DependencyNeverSatisfied|InvalidAccount"
    r"|InvalidQOS|AccountNotAllowed|QOSNotAllowed|QOSTimeLimit|ReservationDeleted|ReservationInvalid|InvalidReservation"
    r"|MaxMemPerLimit|GroupNotAllowed|AssocGrpCPUMinutesLimit"
    r"|needs \d+ slots, this host has"
    r"|> maximum capacity|exceeds? .*(quota|capacity)"
    r"|LocalQueue .*(doesn't exist|does not exist|not found)|flavor .*not found",
)
OTHERS = re.compile(r"Assoc(Grp|Max)|QOS(Grp|Max)|Max[A-Za-z]*Per(User|Account)|RunMins|[Qq]uota|waits for slots: ")
PERSON = re.compile(
    r"JobHeld(User|Admin)|JobHoldMaxRequeue|PartitionDown|PartitionInactive|OnHold|is inactive|StopPolicy"
)

_MEANS = {
    Nature.WILL_NOT_END: NEVER,
    Nature.NEEDS_A_PERSON: PERSON,
    Nature.WHEN_OTHERS_END: OTHERS,
}
_ENDS = {
    Nature.WILL_NOT_END: "nothing, as it is: cancel, then submit with what the cluster allows",
    Nature.NEEDS_A_PERSON: "a person at the cluster lets it go",
    Nature.WHEN_OTHERS_END: "others that take up the same room end",
    Nature.BY_ITSELF: "the scheduler starts it",
}


def nature_of(reason: str) -> Nature:
    """The nature of a wait for this reason of a scheduler; an unknown or empty one ends by itself."""
    return next((nature for nature, words in _MEANS.items() if words.search(reason)), Nature.BY_ITSELF)


def ends_of(nature: Nature) -> str:
    return _ENDS[nature]
