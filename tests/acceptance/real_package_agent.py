"""A scripted agent that makes real edits to itsdangerous: good ones, and ones that must be refused; a part a card."""

from __future__ import annotations

import sys
from pathlib import Path

SRC = Path("src/itsdangerous")
TESTS = Path("tests/test_itsdangerous")

NEWEST = '''
    def signed_by_newest(self, signed_value: str | bytes) -> bool:
        """Whether the newest key made the signature, so that an older one can be retired."""
        signed_value = want_bytes(signed_value)
        value, _, sig = signed_value.rpartition(self.sep)
        return sig == self.get_signature(value)
'''
NEWEST_TEST = """

def test_signed_by_newest():
    old, new = Signer("old"), Signer(["old", "new"])
    assert new.validate(old.sign("value"))
    assert not new.signed_by_newest(old.sign("value"))
    assert new.signed_by_newest(new.sign("value"))
"""
LENGTH = '''

def base64_length(count: int) -> int:
    """The length of ``count`` bytes once they are encoded, without padding."""
    return -(-count * 4 // 3)
'''
LENGTH_TEST = """

@pytest.mark.parametrize("count", range(8))
def test_base64_length(count):
    from itsdangerous.encoding import base64_length

    assert base64_length(count) == len(base64_encode(b"x" * count))
"""
AGE = '''
    def age(self, signed_value: str | bytes) -> int:
        """The seconds since a valid value was signed."""
        _, signed_at = self.unsign(signed_value, return_timestamp=True)
        return self.get_timestamp() - int(signed_at.timestamp())

'''
AGE_TEST = """

def test_age():
    with freeze_time("2011-06-24 00:09:05"):
        signed = TimestampSigner("key").sign("value")
    with freeze_time("2011-06-24 00:09:15"):
        assert TimestampSigner("key").age(signed) == 10
"""


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8").rstrip("\n") + "\n" + text, encoding="utf-8")


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def newest_key() -> None:
    append(SRC / "signer.py", NEWEST)
    append(TESTS / "test_signer.py", NEWEST_TEST)


def base64_length() -> None:
    append(SRC / "encoding.py", LENGTH)
    append(TESTS / "test_encoding.py", LENGTH_TEST)


def signed_age() -> None:
    replace(
        SRC / "timed.py",
        "    def sign(self, value: str | bytes) -> bytes:\n",
        AGE.lstrip("\n") + "    def sign(self, value: str | bytes) -> bytes:\n",
    )
    append(TESTS / "test_timed.py", AGE_TEST)


def docs_examples() -> None:
    """Write documentation, and touch the code on the way."""
    append(Path("docs/concepts.rst"), "\nNever sign what you do not mean to vouch for.\n")
    append(SRC / "serializer.py", "\n# See docs/concepts.rst.\n")


def plain_errors() -> None:
    """Simplify an exception; tests far away need what is dropped."""
    replace(
        SRC / "exc.py",
        "        self.payload: t.Any | None = payload\n\n\nclass BadTimeSignature",
        "\n\nclass BadTimeSignature",
    )


def serializer_tests() -> None:
    """Add a test, and drop one that was in the way."""
    path = TESTS / "test_serializer.py"
    text = path.read_text(encoding="utf-8")
    kept = text[: text.index("def test_digests():")]
    path.write_text(
        kept + 'def test_text_is_kept():\n    assert Serializer("key").loads(Serializer("key").dumps("é")) == "é"\n',
        encoding="utf-8",
    )


GOOD = (newest_key, base64_length, signed_age)
BAD = (docs_examples, plain_errors, serializer_tests)
PARTS = {part.__name__.replace("_", "-"): part for part in (*GOOD, *BAD)}

if __name__ == "__main__":
    PARTS[sys.argv[1]]()
