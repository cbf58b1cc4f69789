"""One request of an agent's client: who asks, and may it be; on its way to the vendor it is passing's."""

from __future__ import annotations

import hmac
from contextlib import suppress
from typing import Final

import h11

from interlock.host.models import answers, body, routes
from interlock.host.models.budget import Entry
from interlock.host.models.client import Client, Gone
from interlock.host.models.passing import Passing
from interlock.host.models.routes import NotServed, Route
from interlock.host.models.told import Desk, Told
from interlock.host.models.upstream import Unreachable

_JSON: Final = ((b"content-type", b"application/json"),)


async def serve(desk: Desk, client: Client) -> None:
    """One connection, from its first request to its last."""
    try:
        while (request := await client.request()) is not None:
            await _Call(desk, client, request).run()
    except Gone:
        pass
    finally:
        await client.close()


class _Refused(Exception):
    """A request that is not passed on, or was not answered; ``last`` when its connection is of no more use."""

    def __init__(self, status: int, text: str, *, code: str = "refused", last: bool = False) -> None:
        super().__init__(text)
        self.status = status
        self.code = code
        self.last = last


class _Call:
    def __init__(self, desk: Desk, client: Client, request: h11.Request) -> None:
        self._desk = desk
        self._client = client
        self._request = request
        self._method = request.method.decode("ascii")
        self._told = Told()
        self._body = body.Body(desk.folder)
        self._heard = False
        self._dialect = routes.guessed(request.target)

    async def run(self) -> None:
        """Answer the request, whatever it is.  Raises Gone when the connection cannot be used any more."""
        try:
            await self._take()
        except _Refused as refusal:
            await self._refuse(refusal)
        finally:
            self._body.close()

    async def _take(self) -> None:
        """Raises _Refused, Gone."""
        route = self._route()
        if route.upstream is None:
            await self._pass_over()
            await self._client.answer(200, _JSON, b"{}", head=self._method == "HEAD")
            return
        self._check_token()
        try:
            self._heard = True
            await self._client.body(self._body)
            entry = self._admit(route)
        except body.BadBody as fault:
            raise _Refused(fault.status, str(fault), code="bad_request", last=fault.status == 413) from None
        vendor = self._desk.vendors[route.upstream.name]
        passing = Passing(
            desk=self._desk,
            vendor=vendor,
            route=route,
            request=self._request,
            body=self._body,
            client=self._client,
            told=self._told,
            entry=entry,
        )
        try:
            await passing.run()
        except Unreachable as fault:
            raise _Refused(
                502, f"The model of {route.upstream.name} cannot be reached: {fault}.", code="upstream"
            ) from None

    def _route(self) -> Route:
        target = self._request.target.decode("ascii", "replace")
        self._told.path = target.partition("?")[0][:200]
        try:
            route = routes.find(self._desk.gateway.upstreams, self._method, target)
        except NotServed as no:
            self._dialect = no.dialect
            raise _Refused(no.status, str(no), code="not_served") from None
        if route.upstream is not None:
            self._told.upstream, self._dialect = route.upstream.name, route.dialect
        return route

    def _check_token(self) -> None:
        fields = self._request.headers
        shown = [value for name, value in fields if name == b"x-api-key"]
        shown += [value[7:] for name, value in fields if name == b"authorization" and value[:7].lower() == b"bearer "]
        token = self._desk.gateway.token.encode()
        if not token or not any(hmac.compare_digest(each.strip(), token) for each in shown):
            raise _Refused(401, "The call does not show this attempt's token.", code="token")

    def _admit(self, route: Route) -> Entry | None:
        """The call's place in the ledger, where it costs something.  Raises _Refused, BadBody."""
        coding = b",".join(value for name, value in self._request.headers if name == b"content-encoding")
        if coding.lower() not in (b"", b"identity"):
            raise _Refused(400, "A compressed request cannot be read here; send it as it is.", code="bad_request")
        if self._method != "POST":
            return None
        data = self._body.read()
        asked = body.asked(data)
        self._told.asked = self._told.model = asked.model[:200]
        self._told.metered = route.metered
        if not route.metered:
            return None
        if asked.background:
            raise _Refused(400, "A background response cannot be metered; ask for it in the foreground.")
        if (no := self._desk.budget.refuse(asked.model)) is not None:
            self._desk.refused = self._desk.refused or no.limit
            status = answers.refused(route.dialect, budget=bool(no.limit))
            raise _Refused(status, no.text, code="budget" if no.limit else "model")
        if route.dialect == "chat" and asked.stream:
            self._body.replace(body.with_usage(data))
        return self._desk.budget.entry()

    async def _refuse(self, no: _Refused) -> None:
        told = self._told
        told.status, told.refused = no.status, str(no)
        told.write(self._desk.record)
        if not self._heard:
            await self._pass_over()
        answer = answers.body(self._dialect, no.status, f"Interlock: {no}", code=f"interlock_{no.code}")
        await self._client.answer(no.status, _JSON, answer, head=self._method == "HEAD", last=no.last)

    async def _pass_over(self) -> None:
        with suppress(body.BadBody):
            await self._client.body(None)
