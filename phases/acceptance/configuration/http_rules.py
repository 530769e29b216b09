"""What an http hook may ask, and whom: the one set of rules for what is configured and for what is sent."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from phases.acceptance.configuration.fault import quoted

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_FRAMING = ("connection", "content-length", "transfer-encoding")
_NAME, _VALUE = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"), re.compile(r"[\t\x20-\x7e\xa0-\xff]+")


def url_fault(url: str) -> str:
    """Why nothing is sent to a URL, or nothing. Names other than localhost are never looked up."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        return f"{quoted(url)} is no URL: {error}"
    if parts.scheme not in ("http", "https") or not host:
        return f"{quoted(url)} is no absolute http or https URL"
    if "@" in parts.netloc:
        return "names and passwords stand in no URL"
    if host != "localhost" and not _is_loopback(host):
        return f"{quoted(host)} is not this machine; only localhost, 127.0.0.0/8 and ::1 are"
    return ""


def header_fault(name: str, value: str) -> str:
    """Why a header is not sent, or nothing."""
    if not _NAME.fullmatch(name):
        return f"{quoted(name)} is no name of a header; mend or delete it"
    if name.lower() in _FRAMING:
        return f"{quoted(name)} says how long the question is or how it ends, and the pipeline does that; delete it"
    if not value.strip() or not _VALUE.fullmatch(value):
        return f"the value of {quoted(name)} is empty, or no header can hold it; mend or delete it"
    return ""


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback if address.version == 4 else address == ipaddress.IPv6Address("::1")
