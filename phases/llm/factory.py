"""Build the adapter for a model by its name."""

from __future__ import annotations

from dataclasses import replace

from phases.llm.model import Model
from phases.llm.providers import Access, provider_at, provider_of


def open_model(name: str, access: Access | None = None) -> Model:
    """Return the adapter for a recording or a served model; the offline model is the agent's own.

    Raises UsageError for a name, an address or a price that makes no sense.
    A model is asked at `access.base_url`, else at the gateway that the settings name for its vendor, else at the vendor's own
    address. The vendor's key goes to the last two, and to `base_url` where `access.send_key` says so.
    A key or a package that is missing does not fail here: the model says so when it is asked.
    """
    if name.startswith("replay:"):
        from phases.llm.adapters.replay import ReplayModel  # late: only recordings need it

        return ReplayModel(name.removeprefix("replay:"))
    access = access or Access()
    provider = provider_at(provider_of(name), access.base_url, send_key=access.send_key)
    from phases.llm.server_model import open_server_model  # late: it brings tenacity and the connection, 60 ms

    address = access.base_url or access.gateways.get(provider.name, "")
    return open_server_model(name, provider, replace(access, base_url=address))
