"""What a job is called on a scheduler."""

from __future__ import annotations

import hashlib

from streams.messages.calls import JobName

READABLE_MAX = 40
DIGEST_CHARS = 12


def scheduler_name(name: JobName) -> str:
    """A readable prefix and a digest of installation, tenant and job: at most 53 of a-z, 0-9 and `-`.

    Two jobs never share it, so one tenant's stop by name never meets another's job.
    """
    whole = f"{name.installation}/{name.tenant}/{name.job}".encode()
    return f"{name.job[:READABLE_MAX]}-{hashlib.sha256(whole).hexdigest()[:DIGEST_CHARS]}"
