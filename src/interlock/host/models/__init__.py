"""The model gateway of one attempt: a metering reverse proxy outside of the sandbox, where alone the keys are; imported only to serve one."""

from interlock.host.models.server import Served, serving

__all__ = ["Served", "serving"]
