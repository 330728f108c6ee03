"""What stands beside the state. One that ends in `!` needs a person."""

from __future__ import annotations

from projections.status.picture import Picture, unauthorized
from projections.status.view import SETTLED, Alert
from projections.status.waits.people import foreign, gone_back, stuck
from projections.status.waits.recovery import retries_wait


def alerts_of(picture: Picture) -> tuple[Alert, ...]:
    """Every alert of the job, in the order of the word list."""
    return tuple(alert for alert in Alert if _stands(picture, alert))


def _stands(picture: Picture, alert: Alert) -> bool:
    """Whether this alert stands. A settled job is alone with what can still happen to it."""
    settled = picture.state in SETTLED
    match alert:
        case Alert.STUCK:
            return any(w.told(picture.now).nature.needs_person for w in stuck(picture)) and not settled
        case Alert.FOREIGN:
            return bool(foreign(picture)) and not settled
        case Alert.UNAUTHORIZED_RUN:
            return any(unauthorized(o) for o in picture.record.objects.values())
        case Alert.REGRESSED:
            return bool(gone_back(picture))
        case Alert.QUARANTINED:
            return bool(picture.record.strange)
        case Alert.BRAKE:
            return retries_wait(picture) == "brake"
        case Alert.UNATTENDED:
            return picture.around.attended is False and not settled
        case Alert.UNREACHABLE:
            return picture.around.unreachable_since is not None and not settled
