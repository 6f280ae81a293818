"""The picture of spending: few points of many charges, none of them above what was spent; colours that can be read."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from hedgerow.service.pages.session_auth import FOLDER
from hedgerow.service.pages.views import DARK, LIGHT, NARROW, WIDE, draw

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
GROUNDS = {LIGHT: "#ffffff", DARK: "#1a211e"}


def luminance(colour):
    """Return the relative luminance of a colour (WCAG 2.2)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_as_the_guideline_says():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # the best known grey that fails


@pytest.mark.parametrize("palette", GROUNDS)
def test_texts_and_lines_of_the_picture_stand_out(palette):
    for colour in (palette.text, palette.line, palette.cap):
        assert contrast(colour, GROUNDS[palette]) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
def test_texts_of_the_pages_stand_out_from_their_grounds(dark):
    light_part, dark_part = (FOLDER / "static" / "style.css").read_text().split("@media (prefers-color-scheme: dark)")
    colours = dict(re.findall(r"--([\w-]+): (#\w{6});", dark_part if dark else light_part))
    assert colours["card"] == GROUNDS[DARK if dark else LIGHT]
    pairs = [(text, ground) for text in ("text", "soft", "accent", "bad") for ground in ("ground", "card")]
    pairs += [("text", "tint"), ("accent", "tint"), ("text", "bad-tint"), ("bad", "bad-tint"), ("on-accent", "accent")]
    pairs += [("card", "bad")]
    assert {
        pair: contrast(*(colours[name] for name in pair)) for pair in pairs if contrast(*map(colours.get, pair)) < 4.5
    } == {}


@pytest.mark.parametrize("size", [WIDE, NARROW])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_picture_is_svg_that_loads_nothing(size, count):
    spent = tuple((BEGAN + timedelta(hours=number), (number + 1) / 4) for number in range(count))
    text = draw(spent, 1.0, "epsilon spent", LIGHT, size).decode()
    assert text.rstrip().endswith("</svg>")
    assert (LIGHT.line in text) == bool(count)
    assert LIGHT.cap in text
    assert "#ffffff" not in text  # the ground is the page's
    links = re.findall(r'(?:href|src)="([^"]*)"|url\(([^)]*)\)', text)
    assert all(link.startswith("#") for pair in links for link in pair if link)
    assert "<script" not in text
