"""Pictures: PNG alone, blank ones known, differences counted outside the masks, hostile ones refused."""

from __future__ import annotations

import io
import struct
import zlib

import pytest

PIL = pytest.importorskip("PIL")

from PIL import Image, ImageDraw  # noqa: E402

from interlock.adapters.checks import pictures  # noqa: E402
from interlock.adapters.checks.faults import BadReport  # noqa: E402


def png(
    width: int = 40, height: int = 20, dot: tuple[int, int, int, int] | None = (2, 2, 5, 5), form: str = "PNG"
) -> bytes:
    image = Image.new("RGB", (width, height), (255, 255, 255))
    if dot:
        ImageDraw.Draw(image).rectangle(dot, fill=(200, 0, 0))
    out = io.BytesIO()
    image.save(out, form)
    return out.getvalue()


def huge() -> bytes:
    """A header that claims 40000 x 40000 pixels over no data."""
    head = struct.pack(">IIBBBBB", 40_000, 40_000, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))
    return b"\x89PNG\r\n\x1a\n" + chunk


@pytest.mark.parametrize("data", [b"", b"\x89PNG", png()[:60], png(form="GIF"), huge(), b"<svg/>"])
def test_what_is_no_whole_png_is_refused(data: bytes) -> None:
    with pytest.raises(BadReport, match=r"\.$"):
        pictures.read(data)


def test_a_picture_of_one_colour_is_blank() -> None:
    assert pictures.read(png(dot=None)).blank
    assert not pictures.read(png()).blank


def test_the_share_of_pixels_that_differ() -> None:
    assert pictures.read(png(), png()).differs == 0
    moved = pictures.read(png(), png(dot=(2, 2, 5, 6))).differs
    assert moved == pytest.approx(4 / 800)
    assert pictures.read(png(), png(dot=(2, 2, 5, 6)), [(0, 0, 40, 10)]).differs == 0
    assert pictures.read(png(), png(dot=(2, 2, 5, 6)), [(0, 0, 2, 10)]).differs == pytest.approx(4 / 780)


def test_what_cannot_be_compared_is_said() -> None:
    assert "40 x 20 pixels, and 41 x 20" in pictures.read(png(), png(41)).fault
    assert "cannot be read" in pictures.read(png(), png()[:60]).fault
    assert "cover all of it" in pictures.read(png(), png(), [(0, 0, 40, 20)]).fault
    assert pictures.read(png(), png(41)).differs is None
