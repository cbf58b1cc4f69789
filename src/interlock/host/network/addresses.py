"""Which addresses a name may not lead to, whatever form they come in; which names are allowed is allow's work."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

# Written out, since what ipaddress calls private differs between versions of Python (bpo-113171).
_V4: Final = tuple(
    (IPv4Network(net), what)
    for net, what in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "a carrier's private network"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "a cloud's metadata service"),
        ("169.254.0.0/16", "link-local, as are the metadata services of clouds"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "reserved for examples"),
        ("192.88.99.0/24", "a 6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "reserved for benchmarks"),
        ("198.51.100.0/24", "reserved for examples"),
        ("203.0.113.0/24", "reserved for examples"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_V6: Final = tuple(
    (IPv6Network(net), what)
    for net, what in (
        ("64:ff9b:1::/48", "a local translation prefix"),
        ("100::/64", "a black hole"),
        ("2001::/23", "reserved or a tunnel"),
        ("2001:db8::/32", "reserved for examples"),
        ("3fff::/20", "reserved for examples"),
        ("5f00::/16", "segment routing"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)
_GLOBAL: Final = IPv6Network("2000::/3")
# IPv6 prefixes that carry an IPv4 address, and how many bits follow it.
_CARRIERS: Final = (
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
)


def why_inner(text: str) -> str | None:
    """What the address is, when it is not one of the public internet; None when it is.  A text that is none is refused."""
    try:
        address = ip_address(text)
    except ValueError:
        return "no address"
    if isinstance(address, IPv4Address):
        return next((what for net, what in _V4 if address in net), None)
    if address.scope_id is not None:
        return "bound to one interface"
    carried = _carried(address)
    if carried is not None:
        what = next((what for net, what in _V4 if carried in net), None)
        return None if what is None else f"{what} ({carried} in IPv6 form)"
    if address == IPv6Address("::1"):
        return "loopback"
    what = next((what for net, what in _V6 if address in net), None)
    return what if what or address in _GLOBAL else "reserved or unspecified"


def _carried(address: IPv6Address) -> IPv4Address | None:
    for net, shift in _CARRIERS:
        if address in net:
            return IPv4Address((int(address) >> shift) & 0xFFFFFFFF)
    return None
