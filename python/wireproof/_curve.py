"""Draws curves as SVG, without another package."""

from __future__ import annotations

import dataclasses
import html
import math
import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence

from ._picture import in_page

Points = Sequence[tuple[float, float, float | None]]

_TITLES = {
    "ber": "bit error rate",
    "etr": "ETR in %",
    "throughput": "throughput in %",
    "resend_ratio": "resend ratio",
    "payload": "payload in bytes",
    "loop": "loop in bytes on the line",
    "buffer": "replay buffer in units",
    "buffer_mean": "units in the replay buffer, mean",
    "buffer_most": "units in the replay buffer, at most",
    "timer": "timer in bytes on the line",
    "ack_every": "units for each acknowledgement",
    "burst_bits": "bits of an error burst",
    "goodput": "goodput in bytes per second",
    "latency_p50": "latency of 50 % of units, in bytes on the line",
    "latency_p99": "latency of 99 % of units, in bytes on the line",
    "latency_p99.9": "latency of 99.9 % of units, in bytes on the line",
    "latency_max": "longest latency in bytes on the line",
}
_CLASS = "wireproof-curve"
_PERCENT = {"etr", "throughput"}
_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 24, 40, 52
_LIGHT = ("#0969da", "#cf222e", "#1a7f37", "#8250df", "#9a6700", "#bf3989", "#1b7c83", "#57606a")
_DARK = ("#58a6ff", "#ff7b72", "#3fb950", "#d2a8ff", "#d29922", "#f778ba", "#39c5cf", "#9198a1")


@dataclasses.dataclass(frozen=True)
class Curve:
    """Curves of a sweep. A notebook shows them as a picture."""

    title: str
    svg: str = dataclasses.field(repr=False)
    """One <svg> element that needs no other file, in light or dark colours."""
    curves: Mapping[str, Points] = dataclasses.field(repr=False)
    """By name: x, y, and y by the closed form or None."""

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return in_page(self.svg, self.title)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the picture into a file."""
        pathlib.Path(file).write_text(self.svg + "\n", encoding="utf-8")


def _number(value: float) -> str:
    """Short, with one space for thousands: 1e-9, 0.25, 4096."""
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e6:
        return f"{value:.6g}"
    mantissa, exponent = f"{value:.3e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}"


class _Axis:
    """The values of one axis and where they are drawn."""

    def __init__(self, values: Sequence[float], log: bool | None, begin: float, end: float) -> None:
        positive = [value for value in values if value > 0]
        spans = bool(positive) and len(positive) == len(values) and max(values) >= 100 * min(values)
        self.log = bool(positive) and (spans if log is None else log)
        used = positive if self.log else list(values)
        low, high = (min(used), max(used)) if used else (0.0, 1.0)
        if self.log:
            low, high = math.log10(low), math.log10(high)
        if high - low < 1e-12 * max(abs(high), abs(low), 1e-300):
            pad = 0.5 if self.log else abs(high) * 0.05 or 0.5
            low, high = low - pad, high + pad
        room = (high - low) * 0.03
        self.low, self.high = low - room, high + room
        self.begin, self.end = begin, end

    def shows(self, value: float) -> bool:
        return value > 0 or not self.log

    def place(self, value: float) -> float:
        at = math.log10(value) if self.log else value
        return self.begin + (at - self.low) / (self.high - self.low) * (self.end - self.begin)

    def marks(self) -> Iterator[tuple[float, str]]:
        if not self.log:
            step = 10 ** math.floor(math.log10((self.high - self.low) / 4))
            step = next(s * step for s in (1, 2, 5, 10) if (self.high - self.low) / (s * step) <= 6)
            at = math.ceil(self.low / step)
            while at * step <= self.high:
                yield at * step, _number(round(at * step, 12))
                at += 1
            return
        factors = (1,) if self.high - self.low > 2.2 else (1, 2, 5)
        every = max(1, math.ceil((self.high - self.low) / 8))
        for exponent in range(math.floor(self.low), math.ceil(self.high) + 1):
            for factor in factors:
                at = math.log10(factor) + exponent
                if exponent % every == 0 and self.low <= at <= self.high:
                    yield 10.0**exponent * factor, _number(float(f"{factor}e{exponent}"))


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _style() -> str:
    """Each rule is for this kind of picture alone: a page may have others."""
    light = {
        "text": 'font:12px system-ui,"Segoe UI","DejaVu Sans",sans-serif;fill:#1f2328',
        ".bg": "fill:#ffffff",
        ".name": "font-size:15px;font-weight:600",
        ".note": "font-size:11px",
        ".grid": "stroke:#d0d7de",
        ".frame": "stroke:#8c959f;fill:none",
        ".curve": "fill:none;stroke-width:1.8",
        ".form": "fill:none;stroke-width:1.2;stroke-dasharray:5 4;opacity:.75",
    }
    dark = {
        "text": "fill:#e6edf3",
        ".bg": "fill:#0d1117",
        ".grid": "stroke:#30363d",
        ".frame": "stroke:#656c76",
    }
    for rules, colours in ((light, _LIGHT), (dark, _DARK)):
        for index, colour in enumerate(colours):
            rules[f".c{index}"] = f"stroke:{colour}"
            rules[f".f{index}"] = f"fill:{colour}"

    def text(rules: Mapping[str, str]) -> str:
        return "".join(f".{_CLASS} {name}{{{rule}}}" for name, rule in rules.items())

    return f"<style>{text(light)}@media (prefers-color-scheme:dark){{{text(dark)}}}</style>"


def draw(
    name: str,
    x: str,
    y: str,
    curves: Mapping[str, Points],
    log_x: bool | None,
    log_y: bool | None,
) -> Curve:
    """Draws the curves. A point is x, y, and y by the closed form or None."""
    scale = 100.0 if y in _PERCENT else 1.0
    scaled = {
        label: sorted((px, py * scale, None if form is None else form * scale) for px, py, form in points)
        for label, points in curves.items()
    }
    every = [point for points in scaled.values() for point in points]
    ys = [value for _, py, form in every for value in (py, form) if value is not None]
    labels = [label for label in scaled if label]
    key_lines = math.ceil(len(labels) / 3)
    top = _TOP + 18 * key_lines
    height = _HEIGHT + 18 * max(0, key_lines - 1)
    across = _Axis([px for px, _, _ in every], log_x, _LEFT, _WIDTH - _RIGHT)
    up = _Axis(ys, log_y, height - _BOTTOM, top)
    title = f"{_TITLES.get(y, y)} over {_TITLES.get(x, x)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{_CLASS}" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}"'
        f' height="{height}" role="img"><title>{html.escape(f"{name}: {title}")}</title>{_style()}',
        f'<rect class="bg" width="{_WIDTH}" height="{height}"/>',
        f'<text class="name" x="{_LEFT}" y="24">{html.escape(name)}</text>',
    ]
    for value, text in across.marks():
        at = across.place(value)
        parts.append(
            f'<path class="grid" d="M{at:.1f},{top}V{height - _BOTTOM}"/>'
            f'<text x="{at:.1f}" y="{height - _BOTTOM + 17}" text-anchor="middle">{text}</text>'
        )
    for value, text in up.marks():
        at = up.place(value)
        parts.append(
            f'<path class="grid" d="M{_LEFT},{at:.1f}H{_WIDTH - _RIGHT}"/>'
            f'<text x="{_LEFT - 7}" y="{at + 4:.1f}" text-anchor="end">{text}</text>'
        )
    parts.append(
        f'<rect class="frame" x="{_LEFT}" y="{top}" width="{_WIDTH - _LEFT - _RIGHT}"'
        f' height="{height - _BOTTOM - top}"/>'
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{height - 12}" text-anchor="middle">'
        f"{html.escape(_TITLES.get(x, x))}</text>"
        f'<text transform="translate(16,{(top + height - _BOTTOM) / 2}) rotate(-90)"'
        f' text-anchor="middle">{html.escape(_TITLES.get(y, y))}</text>'
    )
    dashed = False
    for index, (label, points) in enumerate(scaled.items()):
        colour = index % len(_LIGHT)
        if label:
            column, line = index % 3, index // 3
            left = _LEFT + column * (_WIDTH - _LEFT - _RIGHT) / 3
            parts.append(
                f'<path class="curve c{colour}" d="M{left:.1f},{_TOP + 18 * line}h18"/>'
                f'<text x="{left + 24:.1f}" y="{_TOP + 4 + 18 * line}">{html.escape(label)}</text>'
            )
        seen = [p for p in points if across.shows(p[0]) and up.shows(p[1])]
        places = [(across.place(px), up.place(py)) for px, py, _ in seen]
        form = [
            (across.place(px), up.place(f))
            for px, _, f in points
            if f is not None and across.shows(px) and up.shows(f)
        ]
        if len(form) > 1:
            dashed = True
            parts.append(f'<path class="form c{colour}" d="{_path(form)}"/>')
        if len(places) > 1:
            parts.append(f'<path class="curve c{colour}" d="{_path(places)}"/>')
        for (cx, cy), (px, py, _) in zip(places, seen):
            tip = html.escape(f"{label + ': ' if label else ''}{_number(px)}, {_number(py)}")
            parts.append(
                f'<circle class="f{colour}" cx="{cx:.1f}" cy="{cy:.1f}" r="3"><title>{tip}</title></circle>'
            )
    if dashed:
        parts.append(
            f'<text class="note" x="{_WIDTH - _RIGHT}" y="24" text-anchor="end">dashed: closed form</text>'
        )
    parts.append("</svg>")
    return Curve(f"{name}: {title}", "".join(parts), dict(curves))
