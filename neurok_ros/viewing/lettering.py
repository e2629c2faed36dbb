"""Words, scales and arrows drawn over rendered pictures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

from neurok_ros.reconstruction.types import Floats
from neurok_ros.viewing.palette import BACKGROUND, FAINT_INK, INK, Color, displacement_colors


def font(size: int) -> ImageFont.FreeTypeFont:
    """Pillow's own scalable font, so that pictures look the same on every machine. Size in pixels."""
    loaded = ImageFont.load_default(size)
    assert isinstance(loaded, ImageFont.FreeTypeFont)
    return loaded


def write(image: Image.Image, at: tuple[float, float], text: str, size: int, color: Color = INK, anchor: str = "la") -> float:
    """Writes text with a thin halo; returns its width in pixels. `anchor` as Pillow's text anchors."""
    draw = ImageDraw.Draw(image)
    draw.text(at, text, font=font(size), fill=color, anchor=anchor, stroke_width=max(size // 9, 1), stroke_fill=BACKGROUND)
    draw.text(at, text, font=font(size), fill=color, anchor=anchor)
    return float(draw.textlength(text, font=font(size)))


def paste_softly(image: Image.Image, panel: Image.Image, at: tuple[int, int]) -> None:
    """Pastes a panel whose edges melt into the background."""
    edge = max(min(panel.size) // 30, 1)
    mask = Image.new("L", panel.size)
    mask.paste(255, (edge, edge, panel.width - edge, panel.height - edge))
    image.paste(panel, at, mask.filter(ImageFilter.BoxBlur(edge)))


def legend(image: Image.Image, at: tuple[float, float], entries: Sequence[tuple[Color | Image.Image, str]], size: int) -> None:
    """A row of swatches with their meaning; `at` is the row's left middle. A swatch is a colour or a small picture."""
    x, y = at
    for swatch, text in entries:
        box = (round(x), round(y - size / 2), round(x + size), round(y + size / 2))
        if isinstance(swatch, Image.Image):
            image.paste(swatch.resize((box[2] - box[0], box[3] - box[1])), box[:2])
        else:
            rounded(image, box, swatch)
        x += 1.5 * size
        x += write(image, (x, y), text, size, anchor="lm") + 1.8 * size


def rounded(image: Image.Image, box: tuple[float, float, float, float], color: Color) -> None:
    """A filled box with soft corners."""
    ImageDraw.Draw(image).rounded_rectangle(box, radius=3, fill=color)


def displacement_scale(image: Image.Image, box: tuple[int, int, int, int], largest: float, size: int) -> None:
    """A vertical colour scale from nothing to the largest displacement (metres), in the box left, top, right, bottom."""
    left, top, right, bottom = box
    ramp = displacement_colors(np.linspace(1.0, 0.0, bottom - top), 1.0)
    image.paste(Image.fromarray(np.repeat(ramp[:, None], right - left, axis=1)), (left, top))
    unit = length_unit(largest)
    for share in (0.0, 0.5, 1.0):
        y = bottom - share * (bottom - top)
        write(image, (right + 0.5 * size, y), length(share * largest, unit), size, anchor="lm")
    write(image, ((left + right) / 2, top - 1.6 * size), "displacement", size, FAINT_INK, anchor="mm")


def arrow(image: Image.Image, tail: Floats, tip: Floats, color: Color, width: float) -> None:
    """An arrow with a pale rim between two pixels (2,); nothing where it would be shorter than its head."""
    reach = float(np.linalg.norm(tip - tail))
    head = 3.6 * width
    if reach < 1.2 * head:
        return
    along = (tip - tail) / reach
    across = np.array([-along[1], along[0]])
    neck = tip - head * along
    outline = np.array([
        tail + across * width / 2, neck + across * width / 2, neck + across * head / 2, tip,
        neck - across * head / 2, neck - across * width / 2, tail - across * width / 2,
    ])  # fmt: skip
    _smooth_polygon(image, outline, color)


def outline(image: Image.Image, pixels: Floats, faces: NDArray[np.int32], color: Color, width: int) -> None:
    """A half transparent line around the image of a mesh, given its vertices' pixels (n, 2)."""
    fine = 2
    sheet = Image.new("L", (image.width * fine, image.height * fine))
    draw = ImageDraw.Draw(sheet)
    for triangle in pixels[faces].reshape(len(faces), 6) * fine:
        draw.polygon(triangle.tolist(), fill=255)
    sheet = sheet.filter(ImageFilter.MaxFilter(5)).filter(ImageFilter.MinFilter(5))
    ring = ImageChops.subtract(sheet.filter(ImageFilter.MaxFilter(2 * width + 1)), sheet)
    opacity = ring.resize(image.size, Image.Resampling.BOX).point(lambda level: level * 0.6)
    image.paste(Image.new("RGB", image.size, color), (0, 0), opacity)


def length_unit(largest: float) -> str:
    """The unit that suits lengths up to this many metres: `mm` or `cm`."""
    return "mm" if largest < 0.1 else "cm"


def length(value: float, unit: str) -> str:
    """A length in metres, as text in mm or cm."""
    scaled = value * (1000 if unit == "mm" else 100)
    return f"{scaled:.1f} {unit}" if 0.05 <= scaled < 9.95 else f"{scaled:.0f} {unit}"


def force(value: float) -> str:
    """A force in newtons, as text."""
    return f"{value:.2f} N" if value < 10 else f"{value:.0f} N"


def _smooth_polygon(image: Image.Image, outline: Floats, color: Color) -> None:
    fine = 4
    low = np.floor(outline.min(axis=0)).astype(int) - 4
    high = np.ceil(outline.max(axis=0)).astype(int) + 4
    size = tuple((high - low).tolist())
    mask = Image.new("L", (size[0] * fine, size[1] * fine))
    rim = mask.copy()
    points: list[tuple[float, float]] = [(float(x), float(y)) for x, y in (outline - low) * fine]
    ImageDraw.Draw(mask).polygon(points, fill=255)
    ImageDraw.Draw(rim).polygon(points, fill=255)
    ImageDraw.Draw(rim).line([*points, points[0]], fill=255, width=3 * fine, joint="curve")
    for sheet, ink in ((rim, BACKGROUND), (mask, color)):
        image.paste(Image.new("RGB", size, ink), tuple(low.tolist()), sheet.resize(size, Image.Resampling.LANCZOS))
