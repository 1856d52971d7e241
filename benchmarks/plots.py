"""Two pictures of results, as SVG written by hand: what a recall costs at every size, and evidence found against its
cost.

Rule 1: a picture shows nothing that the result does not hold; colours are read on light and dark pages alike.
"""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, NamedTuple

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 210, 40, 55
COLOURS = ("#2f6fb3", "#c2571a", "#2e8b57", "#8a56ac", "#b3393c", "#7a6a2f")
INK = "#808080"
LINE_HEIGHT = 18
TICKS = 5


class Point(NamedTuple):
    """A place in a picture and what is written beside it."""

    x: float
    y: float
    label: str = ""


class Series(NamedTuple):
    """Points of one colour, joined if there are several."""

    name: str
    points: list[Point]


def _text(x: float, y: float, said: str, *, anchor: str = "start", size: int = 12, colour: str = INK) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{escape(said)}</text>'
    )


def _short(value: float) -> str:
    for unit, word in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{word}"
    return f"{value:g}"


def _powers(least: float, most: float) -> list[float]:
    """1, 2 and 5 of each power of ten between."""
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    return [step * 10**power for power in powers for step in (1, 2, 5) if least <= step * 10**power <= most]


def chart(title: str, x_name: str, y_name: str, series: Sequence[Series], *, y_from_zero: bool = True) -> str:
    """A picture with a logarithmic x-axis."""
    xs = [point.x for one in series for point in one.points]
    least, most = min(xs) / 1.4, max(xs) * 1.4

    def part(x: float) -> float:
        return math.log(x / least) / math.log(most / least)

    return _picture(title, x_name, y_name, series, _Axis(part, _powers(least, most)), y_from_zero=y_from_zero)


def line_chart(title: str, x_name: str, y_name: str, series: Sequence[Series]) -> str:
    """A picture of lines without dots, with a linear x-axis."""
    xs = [point.x for one in series for point in one.points]
    least, most = min(xs), max(xs)
    ticks = [least + (most - least) * n / TICKS for n in range(TICKS + 1)]
    return _picture(title, x_name, y_name, series, _Axis(lambda x: (x - least) / (most - least), ticks), has_dots=False)


class _Axis(NamedTuple):
    """The part of the width at which a value stands, and the values that are named."""

    part: Callable[[float], float]
    ticks: Sequence[float]


def _picture(
    title: str,
    x_name: str,
    y_name: str,
    series: Sequence[Series],
    axis: _Axis,
    *,
    y_from_zero: bool = True,
    has_dots: bool = True,
) -> str:
    ys = [point.y for one in series for point in one.points]
    y_least, y_most = 0.0 if y_from_zero else min(ys), max(ys) * 1.1
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def across(x: float) -> float:
        return LEFT + width * axis.part(x)

    def up(y: float) -> float:
        return TOP + height * (1 - (y - y_least) / (y_most - y_least))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" role="img">',
        f"<title>{escape(title)}</title>",
        _text(LEFT, 22, title, size=15),
        _text(LEFT + width / 2, HEIGHT - 12, x_name, anchor="middle"),
        f'<g transform="translate(18 {TOP + height / 2}) rotate(-90)">{_text(0, 0, y_name, anchor="middle")}</g>',
        *_axes(across, up, axis.ticks, [y_least + (y_most - y_least) * n / TICKS for n in range(TICKS + 1)]),
    ]
    for number, one in enumerate(series):
        parts += _drawn(one, COLOURS[number % len(COLOURS)], across, up, has_dots=has_dots)
        y = TOP + 10 + number * LINE_HEIGHT
        colour = COLOURS[number % len(COLOURS)]
        parts += [
            f'<circle cx="{WIDTH - RIGHT + 16}" cy="{y - 4}" r="4" fill="{colour}"/>',
            _text(WIDTH - RIGHT + 26, y, one.name, size=11),
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _axes(
    across: Callable[[float], float], up: Callable[[float], float], xs: Sequence[float], ys: Sequence[float]
) -> list[str]:
    bottom, end = HEIGHT - BOTTOM, WIDTH - RIGHT
    lines = [f'<path d="M{LEFT} {TOP}V{bottom}H{end}" fill="none" stroke="{INK}"/>']
    lines += [_text(across(x), bottom + 18, _short(x), anchor="middle", size=11) for x in xs]
    for y in ys:
        lines.append(f'<path d="M{LEFT} {up(y):.1f}H{end}" stroke="{INK}" stroke-opacity="0.2"/>')
        lines.append(_text(LEFT - 8, up(y) + 4, f"{y:.3g}", anchor="end", size=11))
    return lines


def _drawn(
    one: Series, colour: str, across: Callable[[float], float], up: Callable[[float], float], *, has_dots: bool
) -> list[str]:
    places = [(across(point.x), up(point.y)) for point in one.points]
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>'] if len(places) > 1 else []
    for point, (x, y) in zip(one.points, places, strict=True) if has_dots else ():
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>')
        if point.label:
            parts.append(_text(x + 8, y - 7, point.label, size=11))
    return parts


def recall_by_size(points: Sequence[dict[str, Any]]) -> str:
    """Processor time of a search and of what is added to a turn, over the chunks searched, in the largest home and the
    smallest."""
    homes = sorted({point["home"] for point in points})
    kinds = (
        ("conversation of ", ", words", "search, words"),
        ("conversation of ", ", meaning", "search, words and meaning"),
    )
    kinds += (("turn of ", ", normal, meaning", "whole turn prepared, with a model"),)
    series: list[Series] = []
    for start, end, name in kinds:
        for home in dict.fromkeys((homes[0], homes[-1])):
            found = [
                Point(float(p["what"].removeprefix(start).removesuffix(end)), p["cpu_p50"])
                for p in points
                if p["home"] == home and p["what"].startswith(start) and p["what"].endswith(end)
            ]
            if found:
                least = {point.x: point for point in sorted(found, reverse=True)}  # where homes have as many chunks
                series.append(Series(f"{name}: of {_short(home)}", sorted(least.values())))
    title = "What a recall costs, by the size of the workspace and of its home"
    return chart(title, "chunks in the workspace", "CPU p50, ms", series)


def peers_by_cost(rows: Sequence[dict[str, Any]]) -> str:
    """Evidence found over processor time, one point for each system; of ours the whole set of questions."""
    series = [
        Series(f"{row['system']}: {row['how']}"[:34], [Point(row["cpu"], row["recall"], row["system"])])
        for row in rows
        if not row["reason"] and "conversations alone" not in row["how"]
    ]
    return chart("Evidence found among the first ten, and at what cost", "CPU of a search p50, ms", "recall@10", series)
