"""Daemons with a flaw, for the tests: `daemons.py MODE FILE STATE_DIR`.

`clock`: the wall clock is off by the seconds in FILE. `crash`: the daemon is killed before its n-th change of one kind,
once; FILE holds n and the kind, a part of the path of what changes. `crash-runner`: the same for its first runner.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from adapters.local import daemon, runs

# Before every rename, link, removal, start of a process and opening of a file that may be made.
CRASH = """
import os, signal, sys
EVENTS = {"os.rename", "os.link", "os.remove", "os.mkdir", "os.posix_spawn", "os.fork"}
def crash_at(file):
    if not os.path.exists(file):
        return
    left, kind = open(file).read().split()
    left = int(left)
    pid = os.getpid()
    def hook(event, args):
        nonlocal left
        changes = event in EVENTS or (event == "open" and isinstance(args[2], int) and args[2] & os.O_CREAT)
        if changes and (event in ("os.posix_spawn", "os.fork") or kind in str(args)):
            left -= 1
            if left == 0 and os.getpid() == pid:
                try:
                    os.unlink(file)
                except FileNotFoundError:
                    return
                os.kill(pid, signal.SIGKILL)
    sys.addaudithook(hook)
"""


def crash(file: str) -> str:
    return f"{CRASH}\ncrash_at({file!r})\n"


def main(mode: str, file: str, state_dir: str) -> None:
    off_by = Path(file)

    def wall_ns() -> int:
        return time.time_ns() + (int(float(off_by.read_text()) * 1e9) if mode == "clock" else 0)

    if mode == "crash":
        exec(crash(file), {})  # noqa: S102 - the same words serve a runner, which is started by them
    elif mode == "crash-runner":
        runs.BOOTSTRAP = crash(file) + runs.BOOTSTRAP
    os.chdir("/")
    daemon.run(Path(state_dir), wall_ns=wall_ns)


if __name__ == "__main__":
    main(*sys.argv[1:])
