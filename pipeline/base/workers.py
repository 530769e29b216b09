"""What a process is given that reads what strangers made: it may be taken over, so it holds no key of the user's."""

from __future__ import annotations

import os
from collections.abc import Mapping

_PASSED = ("PATH", "LANG", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Where programs and libraries are, and how text is written; whatever begins with LC_ as well."""
# decision 128: processor time is the limit, because a clock blames a paper for a busy machine.
PATIENCE = 10
"""So many times its processor time a worker may take by the clock: on a busy machine it waits for its turn."""


def worker_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What of the user's environment a worker is started with."""
    passed = {name: value for name, value in environment.items() if name in _PASSED or name.startswith("LC_")}
    return {"PATH": os.defpath, **passed}
