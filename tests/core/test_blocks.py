"""Blocks of ports as arithmetic: what can never be given, and that families never meet."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.job.blocks import SERVICES, STRIDE, UNSAFE, Room, Table

USUAL = Table(families={"APP_PORT": 3000, "DEBUG_PORT": 9229})


def test_the_ports_are_the_historical_formula() -> None:
    assert USUAL.ports(0) == {"APP_PORT": 3000, "DEBUG_PORT": 9229}
    assert USUAL.ports(3) == {"APP_PORT": 3030, "DEBUG_PORT": 9259}


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (0, "main checkout"),
        (-1, "from 1"),
        (30, "MySQL"),
        (243, "PostgreSQL"),
        (300, "browsers"),
        (337, "Redis"),
        (508, "HTTP proxy"),
        (622, "run into each other"),
        (2977, "run into each other"),
        (6254, "run into each other"),
    ],
)
def test_a_block_that_can_never_be_given_says_why(block: int, why: str) -> None:
    assert why in (USUAL.fault(block) or "")


def test_the_last_valid_block_is_known() -> None:
    assert USUAL.maximum == 621
    assert USUAL.fault(621) is None


def test_one_family_goes_as_far_as_outgoing_connections_allow() -> None:
    one = Table(families={"APP_PORT": 3000}, room=Room(ephemeral=32768))
    assert "outgoing" in (one.fault(2977) or "")
    assert "65535" in (one.fault(6254) or "")
    assert one.maximum == 2975


def test_reserved_and_privileged_ports_are_left_alone() -> None:
    assert "reserved" in (Table(families={"A": 3000}, room=Room(reserved=frozenset({3015}))).fault(1) or "")
    assert "system" in (Table(families={"A": 80}).fault(1) or "")


def test_families_side_by_side_share_a_range() -> None:
    table = Table(families={"APP": 3000, "API": 3001, "DB": 3009})
    assert table.ranges(2) == (range(3020, 3030),)
    assert table.maximum == Table(families={"APP": 3000}).maximum


def test_families_close_to_each_other_keep_away_from_the_main_checkouts_ports() -> None:
    table = Table(families={"APP": 3000, "API": 3010})
    assert table.meeting is None
    assert "main checkout's" in (table.fault(1) or "")
    assert table.fault(2) is None


def test_without_families_there_is_nothing_to_refuse() -> None:
    assert Table(families={}).fault(1) is None
    assert Table(families={}).ports(1) == {}


@given(
    bases=st.lists(st.integers(1, 40000), min_size=1, max_size=4, unique=True),
    block=st.integers(-3, 4000),
    ephemeral=st.integers(2000, 61000),
)
def test_a_block_without_fault_holds_no_port_that_must_not_be_given(
    bases: list[int], block: int, ephemeral: int
) -> None:
    table = Table(families={f"P{number}": base for number, base in enumerate(bases)}, room=Room(ephemeral=ephemeral))
    if table.fault(block) is not None:
        return
    assert 1 <= block <= table.top
    assert block <= table.maximum
    spans = table.ranges(block)
    ports = {port for span in spans for port in span}
    assert len(ports) == STRIDE * len(spans)
    assert all(1024 < port < min(ephemeral, 65536) for port in ports)
    assert not ports & (SERVICES.keys() | UNSAFE)
    assert not ports & {port for span in table.ranges(0) for port in span}
    assert set(table.ports(block).values()) <= ports
    assert all(one[-1] < other[0] for one, other in pairwise(spans))
