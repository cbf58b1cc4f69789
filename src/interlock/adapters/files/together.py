"""What parts of interlock.yaml say about each other: services and ports, their order, secrets and approvals; each alone is around's."""

from __future__ import annotations

from interlock.adapters.files.reading import Reading
from interlock.core.contract import service_order
from interlock.core.contract.policy import Policy
from interlock.core.contract.suggest import nearest
from interlock.core.gate.approvals import rules_of
from interlock.core.problems import Refused


def check_together(reading: Reading, policy: Policy) -> None:
    """Tell what each part allows and the whole does not; a part that could not be read is passed over."""
    if not reading.spoiled & {"services", "ports"}:
        _ports(reading, policy)
    if "services" not in reading.spoiled:
        _order(reading, policy)
    if not reading.spoiled & {"secrets", "approvals"}:
        _approvals(reading, policy)


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
        _tell(reading, key, what, f"Write {guess}, or add {service.port} under ports." if guess else fix)


def _order(reading: Reading, policy: Policy) -> None:
    try:
        service_order.in_order(policy.services)
    except Refused as refused:
        told = refused.refusal
        first = told.holders[0] if told.holders else ""
        _tell(reading, f"services.{first}.after", told.what, told.would_change, told.why)


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
            _tell(reading, f"secrets.{secret.name}.approval", what, fix)


def _tell(reading: Reading, key: str, what: str, fix: str, why: str = "") -> None:
    at = key
    while at and at not in reading.positions:
        at = at.rpartition(".")[0]
    why = why or "It could not be carried out as it is written."
    reading.tell("shape", reading.positions[at], key, what=what, why=why, fix=fix)
