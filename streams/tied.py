"""Child processes that end with the process that started them, however that one ends.

The kernel keeps the promise (prctl(2), PR_SET_PDEATHSIG, Linux alone): it sends SIGTERM when the thread that started the
child is gone. The word survives exec and not fork: what the child starts itself is not bound by it.
"""

from __future__ import annotations

import os
import sys

PR_SET_PDEATHSIG = 1

# In the child, before it becomes the program: ask the kernel, and look whether it was asked too late.
BIND = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(int(sys.argv[1]), signal.SIGTERM, 0, 0, 0) != 0:
    sys.exit(f"prctl(PR_SET_PDEATHSIG): {os.strerror(ctypes.get_errno())}")
if os.getppid() != int(sys.argv[2]):
    sys.exit("the process that started this one is gone")
os.execv(sys.argv[3], sys.argv[3:])
"""


def tied(argv: list[str]) -> list[str]:
    """The command line of this program as a child that ends with us; `argv[0]` is its path.

    To be started from a thread that lives as long as the child should: the main one.
    """
    return [sys.executable, "-I", "-S", "-c", BIND, str(PR_SET_PDEATHSIG), str(os.getpid()), *argv]
