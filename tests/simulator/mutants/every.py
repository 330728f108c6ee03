"""Every planted bug."""

from __future__ import annotations

from tests.simulator.mutants.acting import ACTING
from tests.simulator.mutants.believing import BELIEVING
from tests.simulator.mutants.deciding import DECIDING
from tests.simulator.mutants.looking import LOOKING
from tests.simulator.mutants.owning import OWNING
from tests.simulator.mutants.scheduling import SCHEDULING
from tests.simulator.mutants.settling import SETTLING

MUTANTS = (*ACTING, *OWNING, *DECIDING, *SETTLING, *BELIEVING, *SCHEDULING, *LOOKING)
