"""Decide what a download may connect to."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from pipeline.base.errors import PipelineError

LONGEST_URL = 8000
_LONGEST_SHOWN = 300
_PORTS = {"http": 80, "https": 443}
_PUBLIC_PORTS = frozenset((80, 443, 8080, 8443))
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30}):(?://([^/?#]*)([^#]*))?.*", re.DOTALL)
_AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([^:\[\]%]+))(?::([0-9]{1,5}))?")
_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_UNFIT = re.compile(r"[\x00-\x20\x7f-\xa0\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ud800-\udfff\\]")
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")

# The first row that fits decides. Metadata services hand out the keys of a cloud machine: no setting opens them.
_NEVER = tuple(
    (ipaddress.ip_network(network), name)
    for network, name in (
        ("0.0.0.0/8", "an address of this machine"),
        ("169.254.0.0/16", "a link-local address, where clouds keep their keys"),
        ("100.100.100.200/32", "a cloud's metadata service"),
        ("168.63.129.16/32", "a cloud's metadata service"),
        ("192.0.0.0/24", "an address for protocols"),
        ("192.0.2.0/24", "an address for examples"),
        ("192.88.99.0/24", "a retired relay"),
        ("198.18.0.0/15", "an address for measurements"),
        ("198.51.100.0/24", "an address for examples"),
        ("203.0.113.0/24", "an address for examples"),
        ("224.0.0.0/4", "a multicast address"),
        ("255.255.255.255/32", "the broadcast address"),
        ("240.0.0.0/4", "a reserved address"),
        ("::/128", "an address of this machine"),
        ("fd00:ec2::254/128", "a cloud's metadata service"),
        ("fe80::/10", "a link-local address"),
        ("ff00::/8", "a multicast address"),
        ("64:ff9b:1::/48", "a local translation of IPv4"),
        ("2001::/23", "an address for protocols"),
        ("2001:db8::/32", "an address for examples"),
        ("3fff::/20", "an address for examples"),
        ("2002::/16", "an IPv4 address in disguise"),
    )
)
_INTRANET = tuple(
    (ipaddress.ip_network(network), name)
    for network, name in (
        ("127.0.0.0/8", "a loopback address"),
        ("::1/128", "a loopback address"),
        ("10.0.0.0/8", "a private address"),
        ("172.16.0.0/12", "a private address"),
        ("192.168.0.0/16", "a private address"),
        ("100.64.0.0/10", "an address inside a provider's network"),
        ("fc00::/7", "a private address"),
    )
)


class Forbidden(PipelineError):
    """A place that no download may go to. The text says why, and what would do instead."""


class MalformedAddress(Forbidden):
    """A string that is not a web address: only another spelling of it helps."""


@dataclass(frozen=True)
class Target:
    """An address of the web, taken apart once: what was checked is what is used."""

    scheme: str
    host: str
    """Host in ASCII and without brackets."""
    port: int
    path: str
    """Path with the query, percent-encoded where it is not ASCII."""

    @property
    def authority(self) -> str:
        """Return host and port in the form of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def target_of(url: str, *, private: bool = False) -> Target:
    """Split a URL into its parts; `private` opens all ports. Raises Forbidden if it can be read in two ways."""
    if len(url) > LONGEST_URL:
        raise Forbidden(f"the URL has {len(url):,} characters, over the limit of {LONGEST_URL:,}")
    if _UNFIT.search(url):
        raise Forbidden("a URL has no blanks, backslashes or control characters; write them as %20 and the like")
    match = _URL.fullmatch(url)
    if not match:
        raise MalformedAddress("it is not a URL, like https://example.org/paper.pdf")
    scheme, authority = match[1].lower(), match[2]
    if scheme not in _PORTS:
        raise Forbidden(f"{scheme}: is not fetched; only https and http are")
    if not authority:
        raise MalformedAddress("it has no host name")
    host, port = _host_and_port(authority, _PORTS[scheme])
    if port not in _PUBLIC_PORTS and not private:
        raise Forbidden(f"port {port} is not allowed; only {', '.join(map(str, sorted(_PUBLIC_PORTS)))} are")
    path = match[3] if match[3].startswith("/") else "/" + match[3]
    return Target(scheme, host, port, quote(path, safe="!#$%&'()*+,/:;=?@[]~"))


def printable_url(url: str) -> str:
    """Return a URL for display: without passwords, on one line, and bounded."""
    bare = re.sub(r"//[^/?#]*@", "//…@", url[:2000])
    plain = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in bare)
    return plain if len(plain) <= _LONGEST_SHOWN else plain[:_LONGEST_SHOWN] + "…"


def why_refused(address: str, *, private: bool = False) -> str | None:
    """Return why a resolved address must not be connected to, or None.

    Only public unicast is permitted. `private` permits loopback and the ranges of intranets too, and nothing else.
    """
    if "%" in address:
        return "an address with a scope"
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "no address"
    if isinstance(parsed, ipaddress.IPv6Address):
        embedded = _inner_ipv4(parsed)
        if embedded:
            inner = why_refused(str(embedded), private=private)
            return inner and f"IPv6 around {embedded}, {inner}"
    for network, name in _NEVER:
        if _is_inside(network, parsed):
            return name
    for network, name in _INTRANET:
        if _is_inside(network, parsed):
            return None if private else name
    if parsed.version == 6 and parsed not in _GLOBAL_V6:
        return "an address that is not public"
    # The tables know what is special today; the library may learn of more. Its word alone would not do: it calls
    # multicast, and IPv4 inside IPv6, global.
    return None if parsed.is_global else "an address that is not public"


def permit_addresses(host: str, addresses: Iterable[str], *, private: bool = False) -> tuple[str, ...]:
    """Return the addresses of a host in plain spelling, each once. Raises Forbidden if one of them is refused.

    A name with a public and a private address is an attack, or as good as one: it is refused, not sifted.
    """
    unique = tuple(dict.fromkeys(addresses))
    for address in unique:
        reason = why_refused(address, private=private)
        if reason:
            raise Forbidden(f"{host} leads to {printable_url(address)}, which is {reason}: that is not allowed")
    if not unique:
        raise Forbidden(f"{host} has no address")
    return tuple(str(ipaddress.ip_address(address)) for address in unique)


def _is_inside(network: _Network, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return network.version == address.version and address in network


def _inner_ipv4(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that a connection would reach in the end. Networks without IPv4 reach all of it by NAT64."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped


def _host_and_port(authority: str, usual: int) -> tuple[str, int]:
    if "@" in authority:
        raise Forbidden("a name or password stands before the host, and is not sent; take it out, with its @")
    match = _AUTHORITY.fullmatch(authority)
    if not match:
        raise MalformedAddress("its host name is malformed")
    port = int(match[3] or usual)
    if not 0 < port < 65536:
        raise MalformedAddress(f"there is no port {port}")
    if match[1]:
        return _parse_ipv6(match[1]), port
    return _parse_name(match[2]), port


def _parse_ipv6(text: str) -> str:
    try:
        return str(ipaddress.IPv6Address(text))
    except ValueError:
        raise MalformedAddress("its IPv6 address is malformed") from None


def _parse_name(host: str) -> str:
    """Return a host name in ASCII. Circled digits become plain ones here, and the address they spell is checked."""
    try:
        # The length goes first: the codec takes its time over long names.
        ascii_name = host.encode("idna").decode("ascii").lower() if len(host) <= 253 else ""
    except UnicodeError:
        ascii_name = ""
    ascii_name = ascii_name.removesuffix(".")
    if len(ascii_name) > 253 or not all(_LABEL.fullmatch(label) for label in ascii_name.split(".")):
        raise MalformedAddress("its host name is malformed")
    return ascii_name
