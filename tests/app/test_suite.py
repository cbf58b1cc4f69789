"""One command that several cards ask for is asked under all of their demands, so that none weakens another's."""

from interlock.app.suite import distinct
from interlock.core.contract.card import Check, Report

PLAIN = Check(run="pytest")


def test_a_loose_report_does_not_weaken_a_plain_check():
    loose = Check(run="pytest", report=Report(at_least=0, allow_skipped=True))
    for checks in ((PLAIN, loose), (loose, PLAIN)):
        (one,) = distinct(checks)
        assert one.report is not None
        assert (1, False) == (one.report.at_least, one.report.allow_skipped)


def test_the_highest_number_and_the_longest_limit_hold():
    few = Check(run="pytest", report=Report(at_least=2), timeout=10)
    many = Check(run="pytest", report=Report(at_least=9, junit="out.xml"), timeout=99)
    (one,) = distinct((few, many, PLAIN))
    assert one.report is not None
    assert (9, "out.xml", 600.0) == (one.report.at_least, one.report.junit, one.timeout)


def test_other_commands_stay_apart_and_in_order():
    assert ("pytest", "ruff check") == tuple(check.run for check in distinct((PLAIN, Check(run="ruff check"), PLAIN)))
