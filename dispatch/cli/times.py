"""Times and durations as a person reads them: the zone is named once, in the header."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from dispatch.units import elapsed, exact_duration

__all__ = ["Times", "elapsed", "exact_duration", "wire_time"]

_STAMP = re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z")


@dataclass(frozen=True, slots=True)
class Times:
    """`now` is when the view was made; `zone` is the reader's."""

    now: datetime
    zone: tzinfo | None = None

    def at(self, moment: datetime | None) -> str:
        """`HH:MM:SS` today, else `YYYY-MM-DD HH:MM`; `-` for none."""
        if moment is None:
            return "-"
        here = moment.astimezone(self.zone)
        if here.date() == self.now.astimezone(self.zone).date():
            return here.strftime("%H:%M:%S")
        return here.strftime("%Y-%m-%d %H:%M")

    def clock(self, moment: datetime) -> str:
        """`HH:MM:SS`, whatever the day."""
        return moment.astimezone(self.zone).strftime("%H:%M:%S")

    def since(self, moment: datetime | None) -> str:
        """How long ago; `-` for none."""
        return "-" if moment is None else elapsed((self.now - moment).total_seconds())

    def local(self, sentence: str) -> str:
        """A sentence with its RFC 3339 times put into the reader's zone."""
        return _STAMP.sub(lambda match: self.at(datetime.fromisoformat(match[0].replace("Z", "+00:00"))), sentence)

    def header(self) -> str:
        """`03:06:34 UTC+1`."""
        return f"{self.clock(self.now)} {self.zone_name()}"

    def zone_name(self) -> str:
        """`UTC`, `UTC+1`, `UTC+5:30`."""
        offset = self.now.astimezone(self.zone).utcoffset()
        minutes = int(offset.total_seconds() // 60) if offset else 0
        if minutes == 0:
            return "UTC"
        hours, rest = divmod(abs(minutes), 60)
        return f"UTC{'+' if minutes > 0 else '-'}{hours}" + (f":{rest:02d}" if rest else "")


def wire_time(moment: datetime) -> str:
    """RFC 3339 in UTC with milliseconds, as documents carry it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
