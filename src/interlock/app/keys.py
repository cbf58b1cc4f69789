"""A secret by its name, where the policy knows it and a person approved what it asks for; reading its value is the port's."""

from __future__ import annotations

from collections.abc import Collection

from interlock.core.contract.around import Secret
from interlock.core.contract.policy import Policy
from interlock.core.problems import refused


def permitted(policy: Policy, name: str, approved: Collection[str], *, what: str, slug: str, missing: str) -> Secret:
    """The secret of the policy.  ``what`` says it to a person, ``missing`` what to write when the policy has none.

    Raises Refused (secret, approval).
    """
    secret = policy.secret(name)
    if secret is None:
        raise refused(
            rule="secret",
            what=f"{what} is not in the policy.",
            why="A secret comes from the one source that the policy approves.",
            would_change=missing,
        )
    if secret.approval and secret.approval not in approved:
        raise refused(
            rule="approval",
            what=f"{what} waits for the approval {secret.approval}.",
            why="The policy hands it out only when a person has approved that for the job.",
            would_change=f"interlock decide {slug} --approve {secret.approval}.",
            holders=(secret.approval,),
        )
    return secret
