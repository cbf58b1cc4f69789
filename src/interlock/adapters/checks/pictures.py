"""Pictures of a run: PNG bytes to size, blankness and the share of pixels that differ; Pillow is loaded when one is asked for."""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from interlock.adapters.checks.faults import BadReport
from interlock.core.job.surface import Shot

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_BYTES: Final = 32 << 20
_MOST_PIXELS: Final = 64_000_000
_STEP: Final = 8
"""A pixel differs when one of its channels does so by more than this, of 255: rendering of fonts may differ by less."""

Rectangle = tuple[int, int, int, int]


def missing() -> str:
    """What to do when pictures cannot be read here; empty when they can."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        return "Pictures cannot be read here, because Pillow is not installed: pip install 'interlock[visual]'."
    return ""


def read(data: bytes, expected: bytes | None = None, mask: Sequence[Rectangle] = ()) -> Shot:
    """What a picture is, and how it differs from the expected one where there is one.

    Raises BadReport when it is no PNG, cut, too large, or moving; a fault of the expected one stands in the result.
    """
    image = _opened(data, "The picture")
    blank = all(low == high for low, high in _extrema(image))
    shot = Shot(width=image.width, height=image.height, blank=blank)
    if expected is None:
        return shot
    digest = hashlib.sha256(expected).hexdigest()
    differs, fault = None, ""
    try:
        differs = _differing(image, _opened(expected, "The expected picture"), mask)
    except BadReport as found:
        fault = str(found)
    return Shot(width=shot.width, height=shot.height, blank=blank, differs=differs, expected=digest, fault=fault)


def _opened(data: bytes, what: str) -> Image:
    from PIL import Image, UnidentifiedImageError

    if len(data) > MOST_BYTES:
        raise BadReport(f"{what} has {len(data)} bytes, and {MOST_BYTES} are allowed.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            image = Image.open(io.BytesIO(data), formats=("PNG",))
            if image.width * image.height > _MOST_PIXELS:
                raise BadReport(f"{what} has {image.width} x {image.height} pixels, which is too many.")
            if getattr(image, "n_frames", 1) > 1:
                raise BadReport(f"{what} moves, and only still ones are compared.")
            return image.convert("RGBA")
    except UnidentifiedImageError as fault:
        raise BadReport(f"{what} is no PNG.") from fault
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError, Warning) as fault:
        raise BadReport(f"{what} cannot be read: {fault}.") from fault


def _extrema(image: Image) -> list[tuple[int, int]]:
    return [band.getextrema() for band in image.split()]  # type: ignore[misc]


def _differing(image: Image, expected: Image, mask: Sequence[Rectangle]) -> float:
    """The share of differing pixels of those that are looked at."""
    from PIL import Image, ImageChops, ImageDraw

    if image.size != expected.size:
        raise BadReport(
            f"It has {image.width} x {image.height} pixels, and {expected.width} x {expected.height} are expected."
        )
    bands = ImageChops.difference(image, expected).split()
    worst = bands[0]
    for band in bands[1:]:
        worst = ImageChops.lighter(worst, band)
    marked = worst.point(lambda value: 255 if value > _STEP else 0)
    looked_at = Image.new("L", image.size, 255)
    draw = ImageDraw.Draw(looked_at)
    for x, y, width, height in mask:
        draw.rectangle((x, y, x + width - 1, y + height - 1), fill=0)
    marked.paste(0, mask=ImageChops.invert(looked_at))
    total = looked_at.histogram()[255]
    if total == 0:
        raise BadReport("The masks cover all of it, so nothing is compared.")
    return marked.histogram()[255] / total
