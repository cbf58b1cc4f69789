"""What interlock.yaml says about agents and models: vendors and keys, prices, logins, phases, spending, rules handed over; routes are routes'."""

from __future__ import annotations

import ipaddress
from typing import Any, Final
from urllib.parse import urlsplit

from interlock.adapters.files import reading as read
from interlock.adapters.files import shared
from interlock.adapters.files.parts import lacks, list_of, money, named, tell
from interlock.adapters.files.reading import Reading
from interlock.adapters.files.yaml_tree import Items, Keys, Node
from interlock.core.agent.usage import Price
from interlock.core.contract.agents import PHASES, Login, ModelPrice, Models, Phase, Rules, Spend

_MODELS_FORM: Final = "{anthropic: {key: ANTHROPIC_API_KEY}}"
_LOCAL_FORM: Final = '{url: "http://127.0.0.1:11434", dialects: [chat]}'
_KNOWN: Final[dict[str, dict[str, Any]]] = {
    "anthropic": {"url": "https://api.anthropic.com", "dialects": ("anthropic",)},
    "openai": {"url": "https://api.openai.com", "dialects": ("responses", "chat")},
}
"""Vendors whose address and dialects need not be written."""


def models(reading: Reading, node: Node, key: str) -> tuple[Models, ...]:
    """Vendors of models by name; what is not known of one by its name it says itself."""
    found = []
    for name, values in named(reading, node, key, _MODEL, _MODELS_FORM).items():
        entry, at = node.values[name] if isinstance(node, Keys) else node, f"{key}.{name}"
        full = {**_KNOWN.get(name, {}), **values}
        for needed in ("url", "dialects"):
            if not full.get(needed):
                lacks(reading, entry, at, needed, f"{name}: {_LOCAL_FORM}")
        if full.get("url") and full.get("dialects"):
            found.append(Models(name=name, **full))
    return tuple(found)


def prices(reading: Reading, node: Node, key: str) -> tuple[ModelPrice, ...]:
    """Dollars for a million tokens, by the model's name as its vendor says it."""
    form, found = "{input: 3, output: 15}", []
    for name, entry in reading.entries(node, key, f"{{some-model: {form}}}").items():
        values = shared.decode(reading, entry, f"{key}.{name}", _PRICE, form)
        for needed in ("input", "output"):
            if needed not in values:
                lacks(reading, entry, f"{key}.{name}", needed, form)
        if {"input", "output"} <= values.keys():
            found.append(ModelPrice(model=name, price=Price(**values)))
    return tuple(found)


def logins(reading: Reading, node: Node, key: str) -> tuple[Login, ...]:
    """Credentials of subscriptions, by the agent that logs in with them."""
    form, found = "{file: ~/.codex/auth.json}", []
    for name, values in named(reading, node, key, _LOGIN, form).items():
        entry = node.values[name] if isinstance(node, Keys) else node
        if "file" in values:
            found.append(Login(agent=name, **values))
        else:
            lacks(reading, entry, f"{key}.{name}", "file", f"{name}: {form}")
    return tuple(found)


def spend(reading: Reading, node: Node, key: str) -> Spend:
    """What may be spent in a day or by one attempt."""
    return Spend(**shared.decode(reading, node, key, shared.SPEND, "{tokens: 2M, usd: 20}"))


def rules(reading: Reading, node: Node, key: str) -> Rules:
    return Rules(**shared.decode(reading, node, key, _RULES, "{files: [docs/rules/**]}"))


def phases(reading: Reading, node: Node, key: str) -> tuple[Phase, ...] | None:
    """The phases of a class: each once, in their one order, with the work among them."""
    found = reading.items(node, key, read.choice(*PHASES), "[plan, implement, verify]")
    if not isinstance(node, Items) or len(found) != len(node.items):
        return None  # told already
    chosen = [each for each in PHASES if each in found]
    if list(found) != chosen:
        what = f"The phases {', '.join(found)} stand in another order than they run in, or twice."
        tell(reading, key, what, f"Write {key.rpartition('.')[2]}: [{', '.join(chosen)}].")
        return None
    if "implement" not in found:
        with_work = [each for each in PHASES if each in found or each == "implement"]
        what, why = f"{key} never does the work.", "Only the phase implement changes the tree."
        tell(reading, key, what, f"Write phases: [{', '.join(with_work)}].", why)
        return None
    if "review-tests" in found and "test-plan" not in found:
        what, why = f"{key} reviews a test plan that no phase writes.", "The phase test-plan writes it."
        fixed = [each for each in PHASES if each in found or each == "test-plan"]
        tell(reading, key, what, f"Write phases: [{', '.join(fixed)}].", why)
        return None
    return tuple(chosen)


def _url(reading: Reading, node: Node, key: str) -> str | None:
    """The base of a vendor's interface: https, or plain http on this machine's loopback alone, without a version part."""
    value = read.filled(reading, node, key)
    if value is None:
        return None
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        parts, host = urlsplit(""), ""
    plain = parts.scheme == "http" and _is_loopback(host)
    if not host or not (parts.scheme == "https" or plain) or parts.username or parts.query or parts.fragment:
        why = "A key would travel in the open over plain http; only this machine's own loopback may do without TLS."
        what = f"{value} cannot be the address of models."
        tell(reading, key, what, "Write https://host, or http://127.0.0.1:PORT for a model on this machine.", why)
        return None
    base = value.rstrip("/")
    if base.endswith("/v1"):
        what, why = f"{value} ends with a version.", "The gateway adds /v1 itself."
        tell(reading, key, what, f"Write url: {base.removesuffix('/v1')}.", why)
        return None
    return base


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _address(reading: Reading, node: Node, key: str) -> str | None:
    value = read.filled(reading, node, key)
    if value is None:
        return None
    try:
        ipaddress.ip_address(value)
    except ValueError:
        tell(reading, key, f"{value} is no address.", "Write the number, such as 10.1.2.3.")
        return None
    return value


_MODEL: Final[shared.Table] = {
    "url": _url,
    "dialects": list_of(read.choice("anthropic", "responses", "chat"), "[anthropic]"),
    "key": read.filled,
    "address": _address,
}
_PRICE: Final[shared.Table] = {
    "input": money,
    "output": money,
    "cache_read": money,
    "cache_write": money,
}
_LOGIN: Final[shared.Table] = {"file": read.filled, "refresh": read.filled, "every": read.duration}
_RULES: Final[shared.Table] = {
    "files": read.patterns,
    "stale_days": read.whole(1, 10_000),
    "most_bytes": read.amount,
}
