"""Kept runs of checks: only what this user's own key signed, for exactly that key, is taken over."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, update
from tests.integration.store import build, tamper

from interlock.adapters.signing import KeySigner
from interlock.adapters.store import SqlStore, tables
from interlock.adapters.store.codec import plain
from interlock.core.job.chain import canonical
from interlock.core.job.evidence import CheckRun
from interlock.core.job.statement import cached_run
from interlock.core.problems import Refused

pytest_plugins = ("tests.integration.store.fixtures",)

GREEN = build.evidence("j-x", f"{1:0>40}").verdicts[0].run
ROW = tables.check_run


def put(url: str, key: str, doc: Any) -> None:
    with tamper.loose(url) as connection:
        connection.execute(insert(ROW).values(key=key, at=0.0, doc=doc))


def unsigned(_signer: KeySigner, _foreign: KeySigner) -> Any:
    return plain(GREEN)


def foreign(_signer: KeySigner, foreign: KeySigner) -> Any:
    return {"envelope": foreign.sign(canonical(cached_run("k", plain(GREEN))))}


def of_another_key(signer: KeySigner, _foreign: KeySigner) -> Any:
    return {"envelope": signer.sign(canonical(cached_run("other", plain(GREEN))))}


def another_statement(signer: KeySigner, _foreign: KeySigner) -> Any:
    return {"envelope": signer.sign(canonical(cached_run("k", plain(GREEN)) | {"predicateType": "urn:x"}))}


def signed_and_beside(signer: KeySigner, _foreign: KeySigner) -> Any:
    statement = cached_run("k", plain(GREEN))
    return {"envelope": signer.sign(canonical(statement | {"predicate": {"key": "k", "run": {}}}))}


def garbled(_signer: KeySigner, _foreign: KeySigner) -> Any:
    return {"envelope": "{"}


def a_number(_signer: KeySigner, _foreign: KeySigner) -> Any:
    return 7


@pytest.mark.parametrize(
    "forged", [unsigned, foreign, of_another_key, another_statement, signed_and_beside, garbled, a_number]
)
def test_a_row_that_this_users_key_did_not_sign_so_is_not_there_and_is_replaced(
    store: SqlStore, store_url: str, signer: KeySigner, tmp_path: Path, forged: Callable[[KeySigner, KeySigner], Any]
) -> None:
    put(store_url, "k", forged(signer, KeySigner(tmp_path / "foreign", runner="x")))
    assert store.cached_run("k") is None
    assert store.cache_doubt("k")
    red = build.evidence("j-x", f"{1:0>40}", state="refused").verdicts[0].run
    store.cache_run("k", red)
    found = store.cached_run("k")
    assert found is not None
    assert found.exit_code == red.exit_code
    assert store.cache_doubt("k") == ""
    (said,) = (event for event in store.events("cache") if event.kind == "cache.refused")
    assert said.data["key"] == "k"


def test_a_foreign_key_that_the_history_names_lends_the_cache_nothing(
    store: SqlStore, store_url: str, tmp_path: Path
) -> None:
    other = KeySigner(tmp_path / "foreign", runner="x")
    second = SqlStore.open(store_url, build.Ticks(9000.0), signer=other)
    second.add_evidence(build.evidence("j-y", f"{2:0>40}"))
    second.cache_run("k", GREEN)
    second.close()
    assert store.cached_run("k") is None


def test_an_edited_envelope_is_none(store: SqlStore, store_url: str) -> None:
    store.cache_run("k", CheckRun(run="false", exit_code=1, seconds=0.1, log="l", tail=""))
    with tamper.loose(store_url) as connection:
        text = connection.execute(select(ROW.c.doc)).scalar_one()["envelope"]
        shape = json.loads(text)
        shape["payload"] = base64.b64encode(canonical(cached_run("k", plain(GREEN)))).decode()
        connection.execute(update(ROW).values(doc={"envelope": json.dumps(shape)}))
    assert store.cached_run("k") is None
    assert "does not fit" in store.cache_doubt("k")


def test_a_store_without_a_key_keeps_and_takes_over_nothing(store: SqlStore, store_url: str) -> None:
    store.cache_run("k", GREEN)
    mute = SqlStore.open(store_url)
    assert mute.cached_run("k") is None
    with pytest.raises(Refused, match="without a key"):
        mute.cache_run("m", GREEN)
    mute.close()
