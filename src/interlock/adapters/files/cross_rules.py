"""What parts of interlock.yaml say about each other: services and ports, order, secrets, keys, agents; each alone is its decoder's."""

from __future__ import annotations

import re
from typing import Final

from interlock.adapters.files.parts import tell
from interlock.adapters.files.reading import Reading
from interlock.core.contract import service_order
from interlock.core.contract.agent_known import Fault, fault_of, no_login, unknown
from interlock.core.contract.policy import Policy
from interlock.core.contract.suggest import nearest
from interlock.core.gate.approvals import rules_of
from interlock.core.problems import Refused

_NAME: Final = re.compile(r"[A-Z]+|[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_NAME_MOST: Final = 40
"""What is taken for the name of a key and repeated; anything else may be a key that was pasted."""


def check_together(reading: Reading, policy: Policy) -> None:
    """Tell what each part allows and the whole does not; a part that could not be read is passed over."""
    if not reading.spoiled & {"services", "ports"}:
        _ports(reading, policy)
    if "services" not in reading.spoiled:
        _order(reading, policy)
    if not reading.spoiled & {"secrets", "approvals"}:
        _approvals(reading, policy)
    if not reading.spoiled & {"models", "secrets"}:
        _keys(reading, policy)
    _agents(reading, policy)
    if not reading.spoiled & {"routes", "classes"}:
        _routed_classes(reading, policy)


def _keys(reading: Reading, policy: Policy) -> None:
    """The key of a vendor is a secret of the policy, so that it has one approved source and is never in the file."""
    known = [secret.name for secret in policy.secrets]
    for vendor in policy.models:
        if vendor.key is None or vendor.key in known:
            continue
        guess = nearest(vendor.key, known)
        name = vendor.key if _NAME.fullmatch(vendor.key) and len(vendor.key) < _NAME_MOST else ""
        named = f" {name}" if name else ""
        what = f"The key of {vendor.name} names no secret of the policy{named and ':'}{named}."
        why = "A key is named here and read from its one source; it is never written into a file of the repository."
        fix = (
            f"Write key: {guess}."
            if guess
            else f"Add it: secrets: {{{name or _variable(vendor.name)}: {{variable: {name or '…'}}}}}."
        )
        tell(reading, f"models.{vendor.name}.key", what, fix, why)


def _variable(vendor: str) -> str:
    return f"{vendor.upper().replace('-', '_')}_API_KEY"


def _agents(reading: Reading, policy: Policy) -> None:
    """Agents of the policy and its classes can be started, and those of routes, tiers and logins are known and take what they are given."""
    chosen = [("agent", policy.agent), *((f"classes.{each.name}.agent", each.agent) for each in policy.classes)]
    for key, choice in chosen:
        if key.partition(".")[0] not in reading.spoiled and (fault := fault_of(choice, policy.agents)) is not None:
            _fault(reading, f"{key}.{fault.key}" if fault.key else key, fault)
    named = [(f"tiers.{each}", each) for each in dict.fromkeys(tier.agent for tier in policy.tiers)]
    named += [(f"logins.{each.agent}", each.agent) for each in policy.logins]
    named += [(f"routes[{n}].use", route.use) for n, route in enumerate(policy.routes) if route.use is not None]
    for key, name in named:
        if name not in policy.agents and key.partition(".")[0].partition("[")[0] not in reading.spoiled:
            _fault(reading, key, unknown(name, policy.agents))
    if "logins" not in reading.spoiled:
        for each in policy.logins:
            if (fault := no_login(each.agent)) is not None:
                _fault(reading, f"logins.{each.agent}", fault)


def _routed_classes(reading: Reading, policy: Policy) -> None:
    known = [each.name for each in policy.classes]
    for number, route in enumerate(policy.routes):
        for name in route.classes:
            if name not in known:
                guess = nearest(name, known)
                fix = f"Write {guess}." if guess else f"Write one of: {', '.join(known)}."
                tell(reading, f"routes[{number}]", f"The route is for {name}, which is no class.", fix)


def _fault(reading: Reading, key: str, fault: Fault) -> None:
    tell(reading, key, fault.what, fault.fix, fault.why, fault.kind)


def _ports(reading: Reading, policy: Policy) -> None:
    """A service's port is one of the task's block; its readiness asks the same one."""
    known = [name for name, _ in policy.ports]
    for service in policy.services:
        if service.port is None or service.port in known:
            continue
        key = f"services.{service.name}.port"
        what = f"The service {service.name} serves {service.port}, which is no port of the policy."
        fix = f"Add {service.port} under ports, or write one of: {', '.join(known) or 'none'}."
        guess = nearest(service.port, known)
        tell(reading, key, what, f"Write {guess}, or add {service.port} under ports." if guess else fix)


def _order(reading: Reading, policy: Policy) -> None:
    try:
        service_order.in_order(policy.services)
    except Refused as refused:
        told = refused.refusal
        first = told.holders[0] if told.holders else ""
        tell(reading, f"services.{first}.after", told.what, told.would_change, told.why)


def _approvals(reading: Reading, policy: Policy) -> None:
    """A secret may wait for a name of its own; one that is nearly a rule's is a slip, and would never be given."""
    rules = [rule.name for rule in rules_of(policy)]
    for secret in policy.secrets:
        if secret.approval is None or secret.approval in rules:
            continue
        guess = nearest(secret.approval, rules)
        if guess is not None:
            what = f"The secret {secret.name} waits for {secret.approval}, which no approval is called."
            fix = f"Write {guess}, or a name that is not so near to it."
            tell(reading, f"secrets.{secret.name}.approval", what, fix)
