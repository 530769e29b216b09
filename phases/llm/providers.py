"""Table of providers: their names, addresses, and the variables that hold their keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pipeline.base.errors import UsageError

SMALLEST_SECRET = 8


class Wire(NamedTuple):
    adapter: str
    """The module whose open_adapter() speaks it."""
    sdk: str
    """The vendor, and its package; the extra of the same name installs it."""
    added: str = ""
    """Path that the package appends to an address."""
    responses: str = ""
    """The module for the same vendor's newer API, where there is one."""


_OPENAI = Wire("phases.llm.adapters.openai_chat", "openai", responses="phases.llm.adapters.openai_responses")
_ANTHROPIC = Wire("phases.llm.adapters.anthropic_messages", "anthropic", added="/v1")


class Provider(NamedTuple):
    """One provider. A model of it is named `PROVIDER:NAME`."""

    name: str
    wire: Wire
    base_url: str
    """Empty: the setting base_url must say where."""
    key_variable: str | None
    """None: a server of the user's own, asked at the setting base_url, and sent the setting api_key where there is one."""
    silence: float = 60.0
    """Seconds without a byte of a reply, after which the connection counts as dead."""
    limit: str = "max_tokens"
    """The name of the parameter that bounds a reply; the other name is tried where a server refuses this one."""
    flex: float = 0.0
    """Price of the flex tariff relative to the usual one; 0: none."""
    reports_cost: bool = False
    """True if the provider states a call's cost on request."""

    @property
    def key_setting(self) -> str:
        return self.key_variable.lower() if self.key_variable else "api_key"

    @property
    def address_setting(self) -> str:
        """Return the user's setting of the address: of a vendor, the gateway in front of it."""
        return f"{self.name}_base_url" if self.key_variable else "base_url"


_ROWS = (
    # OpenAI's reasoning models think for minutes without a byte on the wire.
    Provider(
        "openai",
        _OPENAI,
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        silence=300,
        limit="max_completion_tokens",
        flex=0.5,
    ),
    Provider("openrouter", _OPENAI, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", reports_cost=True),
    Provider("anthropic", _ANTHROPIC, "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    Provider(
        "google", _OPENAI, "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", silence=300
    ),
    Provider("deepseek", _OPENAI, "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", silence=300),
    Provider("mistral", _OPENAI, "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    Provider("groq", _OPENAI, "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    Provider("ollama", _OPENAI, "http://localhost:11434/v1", None),
    Provider("vllm", _OPENAI, "http://localhost:8000/v1", None),
    Provider("llamacpp", _OPENAI, "http://localhost:8080/v1", None),
    Provider("compatible", _OPENAI, "", None),
)
PROVIDERS: Mapping[str, Provider] = {provider.name: provider for provider in _ROWS}
"""All there is to say of a provider stands in its row; one that speaks in a new way needs an adapter, too."""
WITHOUT_PROVIDER = ("offline", "replay:PATH")


def provider_of(name: str) -> Provider:
    """Return the provider of a model's name. Raises UsageError for an unknown one, or a missing model."""
    head, colon, model = name.partition(":")
    if head not in PROVIDERS or not colon:
        known = ", ".join([*WITHOUT_PROVIDER, *(f"{provider}:NAME" for provider in PROVIDERS)])
        raise UsageError(f"there is no model '{name}'{_suggest_name(head, name)}; known: {known}")
    if not model.strip() or model != model.strip() or not model.isprintable():
        raise UsageError(f"the model '{name}' needs a name after '{head}:', like {head}:NAME; see: pipeline models")
    return PROVIDERS[head]


def address_of(provider: Provider, base_url: str) -> str:
    """Return the configured address of a provider, else its own. Raises UsageError for an invalid one."""
    address = (base_url or provider.base_url).rstrip("/").removesuffix(provider.wire.added)
    if not address:
        raise UsageError(
            f"the provider '{provider.name}' has no address of its own; set base_url, like --base-url http://localhost:9000/v1"
        )
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not a number, or half an IPv6 address
        usable = False
    if (
        not usable
        or "@" in parts.netloc
        or parts.query
        or parts.fragment
        or not address.isprintable()
        or " " in address
    ):
        raise UsageError(
            f"the setting {provider.address_setting} is not the address of a server, which looks like https://server.example/v1, "
            "with no name, key or question mark in it"
        )
    return address


def provider_at(provider: Provider, base_url: str, *, send_key: bool) -> Provider:
    """Return the provider as it is asked at `base_url`: a vendor without its key, unless the address is the vendor's own or the
    key may be sent. Raises UsageError as `address_of` does.
    """
    # decision 41: a vendor's key goes where the user said, and nowhere else
    server = provider._replace(key_variable=None)
    if not base_url or address_of(server, base_url) == provider.base_url or send_key:
        return provider
    return server


def key_of(provider: Provider, own: str, environment: Mapping[str, str]) -> str:
    """Return the key to send: a vendor's own variable, for other servers the setting api_key; empty if there is none."""
    return (environment.get(provider.key_variable, "") if provider.key_variable else own).strip()


def key_fault(provider: Provider, key: str) -> str:
    """Return the fault of a key with what to do, or an empty string."""
    where = f"set {provider.key_variable}, or {provider.key_setting} in the settings file"
    if provider.key_variable and not key:
        return f"{provider.name} has no API key: {where}"
    if not (key.isascii() and key.isprintable()):
        named = f"{provider.key_variable} or {provider.key_setting}" if provider.key_variable else "the setting api_key"
        return f"the key for {provider.name} holds a character that no key has; copy it again into {named}"
    return ""


def with_settings(environment: Mapping[str, str], settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment, with vendors' keys from the settings for variables that are not set."""
    keys = {vendor.key_variable: settings[vendor.key_setting] for vendor in _ROWS if vendor.key_variable}
    added = {name: str(key) for name, key in keys.items() if key and not environment.get(name, "").strip()}
    return {**environment, **added}


def gateways_in(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the user's gateways by vendor."""
    named = {vendor.name: str(settings[vendor.address_setting]) for vendor in _ROWS if vendor.key_variable}
    return {name: address for name, address in named.items() if address}


def keys_in(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return every key in the settings, of any provider."""
    return tuple(str(settings[name]) for name in dict.fromkeys(provider.key_setting for provider in _ROWS))


def secrets_in(own: Iterable[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return every key that may never be written down: the one in use, and all others."""
    values = [*own, *(environment.get(provider.key_variable or "", "") for provider in _ROWS)]
    return tuple(dict.fromkeys(value.strip() for value in values if len(value.strip()) >= SMALLEST_SECRET))


def _suggest_name(head: str, name: str) -> str:
    from difflib import get_close_matches  # late: only a mistake needs it

    near = get_close_matches(head, [*PROVIDERS, "offline", "replay"], n=1)
    if not near:
        return f"; write PROVIDER:NAME, like openai:{name}" if name else ""
    return f"; did you mean '{near[0]}{'' if near[0] == 'offline' else ':…'}'?"


@dataclass(frozen=True)
class Access:
    """The user's own settings for reaching models. No task and no paper may change them."""

    base_url: str = ""
    """The address to ask; empty: the provider's own, or its gateway."""
    key: str = field(default="", repr=False)
    """The setting api_key, for a server of the user's own."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The real environment, with what the settings add to it: the vendors' own variables are read from it."""
    context_tokens: int = 0
    """The model's window; 0: what is known of it."""
    prices: Mapping[str, Any] = field(default_factory=dict)
    """The user's own price table, of the same shape as prices.json; it goes before that one."""
    send_key: bool = False
    """True if a vendor's key may go to base_url."""
    unsent: tuple[str, ...] = field(default=(), repr=False)
    """Further keys of the user's, which may not be written down either."""
    gateways: Mapping[str, str] = field(default_factory=dict)
    """Gateways by vendor, used instead of the vendors' own addresses."""
    most_output: int = 0
    """The setting max_output_tokens; 0: what is known of the model."""
    effort: str = ""
    """Thinking effort of the model; empty: the vendor's default."""
    openai_api: str = ""
    """chat or responses; empty: by the model."""
    flex: bool = False
    """True if a slower answer at half the price will do, if the vendor has that."""
