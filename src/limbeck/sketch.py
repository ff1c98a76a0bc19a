"""A small line chart as SVG text, for notebooks: no library, nothing from outside. Figures for print are in report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

WIDTH, HEIGHT = 560, 260
LEFT, RIGHT, TOP, BOTTOM = 54, 150, 22, 40
#: Okabe and Ito's colours, which the colour-blind can tell apart
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666")


@dataclass(frozen=True)
class Curves:
    """Lines over the same places: names of the places, and values by line; NaN leaves a gap.

    bands  low and high by line, for those that have an interval
    """

    places: Sequence[str]
    lines: Mapping[str, Any]  # sequences of floats, numpy's too
    bands: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    across: str = "layer"
    up: str = ""


def sketch(curves: Curves) -> str:
    """An SVG picture; text in it is escaped, and a description stands for it where it cannot be seen."""
    everything = [*curves.lines.values(), *(side for band in curves.bands.values() for side in band)]
    known = [value for values in everything for value in values if math.isfinite(value)]
    if not known or not curves.places:
        return ""
    low, high, step = scale(min(known), max(known))
    places = len(curves.places)

    def x(place: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (place / (places - 1) if places > 1 else 0.5)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)

    told = f"{curves.up or ', '.join(curves.lines)} by {curves.across}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(told)}" width="{WIDTH}" '
        f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11" fill="#777777">'
    ]
    parts.append(f'<text x="{LEFT}" y="{TOP - 5}">{escape(_short(curves.up, 60))}</text>')
    digits = max(0, -math.floor(math.log10(step)))
    for count in range(round((high - low) / step) + 1):
        at = low + count * step
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(at):.1f}" y2="{y(at):.1f}" stroke="#999999" '
            f'stroke-opacity="0.35"/><text x="{LEFT - 6}" y="{y(at) + 4:.1f}" text-anchor="end">{at:.{digits}f}</text>'
        )
    every = max(1, math.ceil(places / 14))
    for place in range(0, places, every):
        name = escape(str(curves.places[place]))
        parts.append(f'<text x="{x(place):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{name}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{escape(curves.across)}</text>')
    for number, (name, values) in enumerate(curves.lines.items()):
        color = COLORS[number % len(COLORS)]
        if name in curves.bands:
            lows, highs = curves.bands[name]
            edge = [(x(i), y(v)) for i, v in enumerate(highs) if math.isfinite(v)]
            edge += [(x(i), y(v)) for i, v in reversed(list(enumerate(lows))) if math.isfinite(v)]
            points = " ".join(f"{across:.1f},{up:.1f}" for across, up in edge)
            parts.append(f'<polygon points="{points}" fill="{color}" fill-opacity="0.15"/>')
        parts += [_line([(x(i), y(values[i])) for i in part], color) for part in unbroken(values)]
        at = TOP + 14 * number + 8
        parts.append(
            f'<line x1="{WIDTH - RIGHT + 10}" x2="{WIDTH - RIGHT + 26}" y1="{at - 4}" y2="{at - 4}" stroke="{color}" '
            f'stroke-width="2"/><text x="{WIDTH - RIGHT + 31}" y="{at}">{escape(_short(name))}</text>'
        )
    return "".join([*parts, "</svg>"])


def scale(low: float, high: float) -> tuple[float, float, float]:
    """Round ends of an axis and the step between its marks: 1, 2 or 5 times a power of ten.

    >>> scale(0.12, 0.83)
    (0.0, 1.0, 0.2)
    """
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(power * by for by in (1, 2, 5, 10) if (high - low) / (power * by) <= 5)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, step


def unbroken(values: Sequence[float]) -> list[list[int]]:
    """Places of values that stand together without a gap.

    >>> unbroken([1.0, 2.0, float("nan"), 4.0])
    [[0, 1], [3]]
    """
    found: list[list[int]] = [[]]
    for place, value in enumerate(values):
        if math.isfinite(value):
            found[-1].append(place)
        elif found[-1]:
            found.append([])
    return [part for part in found if part]


def _line(points: list[tuple[float, float]], color: str) -> str:
    if len(points) == 1:
        ((x, y),) = points
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>'
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>'


def _short(name: str, most: int = 20) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
