"""One request of an agent's client: who asks, and may it be; on its way to the vendor it is passing's."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

import h11

from interlock.host.models import body, error_bodies, routes, server_side
from interlock.host.models.budget import Entry, Spent
from interlock.host.models.call_record import Desk, Told
from interlock.host.models.client import Client, Gone
from interlock.host.models.counting import Counting
from interlock.host.models.estimate import Need, need_of
from interlock.host.models.passing import Passing
from interlock.host.models.routes import NotServed, Route
from interlock.host.models.scanning import BadBody
from interlock.host.models.upstream import Unreachable

T = TypeVar("T")
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
        self._body = body.Body(desk.folder, desk.pool)
        self._need = Need()
        self._entry: Entry | None = None
        self._heard = False
        self._dialect = routes.guessed(request.target)

    async def run(self) -> None:
        """Answer the request, whatever it is.  Raises Gone when the connection cannot be used any more."""
        try:
            await self._take()
        except _Refused as refusal:
            await self._refuse(refusal)
        finally:
            if self._entry is not None:
                self._desk.budget.leave(self._entry)
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
            if route.upstream.closed:
                raise _Refused(503, route.upstream.closed, code="closed")
            await self._admit(route)
        except BadBody as fault:
            raise _Refused(fault.status, str(fault), code="bad_request", last=fault.status in (413, 503)) from None
        vendor = self._desk.vendors[route.upstream.name]
        counting = Counting(desk=self._desk, told=self._told, entry=self._entry, need=self._need, size=self._body.size)
        passing = Passing(
            vendor=vendor,
            route=route,
            request=self._request,
            body=self._body,
            client=self._client,
            told=self._told,
            counting=counting,
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

    async def _admit(self, route: Route) -> None:
        """Give the call its place in the ledger, where it costs something.  Raises _Refused, BadBody, Gone."""
        coding = b",".join(value for name, value in self._request.headers if name == b"content-encoding")
        if coding.lower() not in (b"", b"identity"):
            raise _Refused(400, "A compressed request cannot be read here; send it as it is.", code="bad_request")
        if self._method != "POST":
            if self._body.size:
                raise _Refused(400, f"A {self._method} has no body.", code="bad_request")
            return
        known = await self._aside(body.read)
        self._told.asked = self._told.model = known.model
        self._told.metered = route.metered
        self._check_wanted(route, known)
        if not route.metered:
            return
        found = await self._client.during(self._desk.budget.enter(known.model, self._need))
        if isinstance(found, Spent):
            raise self._over(route, found)
        self._entry = found
        if route.dialect == "chat" and known.said.get("stream") is True:
            self._body.replace(await self._aside(body.with_usage, known))

    async def _aside(self, read: Callable[..., T], *more: object) -> T:
        """Read the body where it keeps no other call waiting.  Raises BadBody."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._desk.reading, read, self._body.read(), *more)

    def _check_wanted(self, route: Route, known: body.Read) -> None:
        """Raises _Refused for what cannot be seen or counted from here."""
        wanted = server_side.wanted(known.said, known.model, route.dialect)
        self._need = need_of(self._body.size, wanted.output)
        if wanted.run:
            why = "what a vendor runs or fetches by itself passes the task's walls"
            raise _Refused(400, f"The request asks for {wanted.run}; {why}. Leave it out.", code="vendor_tool")
        if known.said.get("background") not in (None, False):
            raise _Refused(400, "A background response cannot be metered; ask for it in the foreground.")
        if wanted.kept and self._desk.budget.limited:
            why = "what the vendor keeps cannot be counted before it is sent, and a budget is kept here"
            raise _Refused(400, f"The request refers to {wanted.kept}; {why}. Send it whole.", code="kept_state")

    def _over(self, route: Route, no: Spent) -> _Refused:
        if not no.limit:
            return _Refused(503, no.text, code="ledger")
        if not self._desk.refused:
            self._desk.refused, self._desk.reached = no.limit, no.reached
        return _Refused(error_bodies.REFUSED[route.dialect], no.text, code="budget")

    async def _refuse(self, no: _Refused) -> None:
        told = self._told
        told.status, told.refused = no.status, str(no)
        self._desk.lines.write(told)
        if not self._heard:
            await self._pass_over()
        answer = error_bodies.body(self._dialect, no.status, f"Interlock: {no}", code=f"interlock_{no.code}")
        await self._client.answer(no.status, _JSON, answer, head=self._method == "HEAD", last=no.last)

    async def _pass_over(self) -> None:
        with suppress(BadBody):
            await self._client.body(None)
