"""Which variables of the user's environment a hook gets: all but those that look like secrets."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from phases.acceptance.hook import Hook

SET_FOR_ALL = ("CI", "GIT_TERMINAL_PROMPT", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")
"""Names among `added` that a person might think of setting: nobody's `env` wins over them."""
_SECRET = re.compile(
    r"(?:_|^)(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|PASSPHRASE|(?:ACCESS|PRIVATE)_?KEY)(?:$|_)"
    r"|^AWS_|^GIT_CONFIG_|^(?:GIT_ASKPASS|SSH_AUTH_SOCK|LD_PRELOAD)$"
    r"|^PIPELINE_.*(?:KEY|PASSWORD)S?(?:$|_)",
    re.IGNORECASE,
)


def environment_of(
    own: Mapping[str, str], *, secret_names: Collection[str], hook: Hook, added: Mapping[str, str]
) -> dict[str, str]:
    """The environment of one hook: the user's own without secrets, then the hook's `env`, then `added`."""
    dropped = dropped_names(own, secret_names=secret_names, hook=hook)
    kept = {name: value for name, value in own.items() if name not in dropped}
    return {**kept, **hook.env, **added}


def dropped_names(own: Mapping[str, str], *, secret_names: Collection[str], hook: Hook) -> tuple[str, ...]:
    """Which variables the hook does not get, by name."""
    secrets = {name.upper() for name in secret_names}
    return tuple(
        sorted(
            name
            for name in own
            if name not in hook.env_allow and (name.upper() in secrets or _SECRET.search(name) is not None)
        )
    )
