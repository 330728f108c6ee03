"""Daemons with a flaw, for the tests: `daemons.py MODE ARGUMENT STATE_DIR`.

`clock FILE`: the wall clock is off by the seconds in FILE. `crash FILE`: the daemon is killed at its n-th change of
the directory, n in FILE, once. `crash-runner FILE`: the same for the first runner it starts.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

CHANGES = ("os.rename", "os.link", "os.remove", "os.mkdir", "os.posix_spawn", "os.fork")
CRASH = """
import os, signal, sys
def crash_at(file):
    try:
        left = int(open(file).read())
    except FileNotFoundError:
        return
    pid = os.getpid()
    def hook(event, args):
        nonlocal left
        if event in {changes} or (event == "open" and isinstance(args[2], int) and args[2] & os.O_CREAT):
            left -= 1
            if left == 0 and os.getpid() == pid:
                os.unlink(file)
                os.kill(pid, signal.SIGKILL)
    sys.addaudithook(hook)
crash_at({file!r})
"""


def main(mode: str, argument: str, state_dir: str) -> None:
    from adapters.local import daemon, runs

    wall_ns = time.time_ns
    code = CRASH.format(changes=CHANGES, file=argument)
    if mode == "clock":

        def wall_ns() -> int:
            return time.time_ns() + int(float(Path(argument).read_text()) * 1e9)

    elif mode == "crash":
        exec(code, {})
    elif mode == "crash-runner":
        runs.BOOTSTRAP = f"{code}\n{runs.BOOTSTRAP}"
    os.chdir("/")
    daemon.run(Path(state_dir), wall_ns=wall_ns)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[3]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main(*sys.argv[1:])
