"""The grid of a sweep: a TOML file that the command reads, too, or a dict that becomes such a text."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import pathlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from . import _wireproof
from ._errors import Error
from ._ladder import text_of

Grid = Mapping[str, Any] | str | os.PathLike[str]

_LINE_KEYS = (
    "clean_back",
    "renak_on_bad_head",
    "notice_loss",
    "bursts",
    "loss_trace",
    "lanes",
    "lane_correlation",
)
_SWEEP_KEYS = ("name", "seed", "packets", "packets_max", "relative_error", "point_seconds")
_NAMES = {"bit_error_rate": "ber"}
_SIZE_MAX = 1 << 20  # bytes, as in the command


@dataclasses.dataclass(frozen=True)
class Spec:
    """Everything that the results of a sweep depend on. It can travel to another process."""

    toml: str
    losses: str | None
    seed: int | None
    packets: int | None
    relative_error: float | None

    def sweep(self) -> _wireproof.Sweep:
        """Reads the text. The same spec gives the same object: nobody may change it."""
        return _read(self)

    def run(self, index: int, jump: bool, seconds: float, progress: Callable[[float], object] | None) -> str:
        """Simulates a point. Returns a JSON object."""
        return self.sweep().run(index, jump, seconds, progress)


@functools.lru_cache(maxsize=4)
def _read(spec: Spec) -> _wireproof.Sweep:
    sweep = _wireproof.Sweep(spec.toml)
    sweep.set_plan(spec.seed, spec.packets, spec.relative_error)
    if spec.losses is not None:
        sweep.set_loss_trace(spec.losses)
    return sweep


def _value(value: Any, key: str) -> str:
    """A value of TOML."""
    if hasattr(value, "tolist"):  # of numpy: an array or a scalar
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"grid[{key!r}]: {value} is no value")
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, os.PathLike):
        return json.dumps(os.fspath(value))
    if isinstance(value, Mapping):
        parts = (f"{json.dumps(str(k))} = {_value(v, key)}" for k, v in value.items())
        return "{ " + ", ".join(parts) + " }"
    if isinstance(value, (list, tuple, range)):
        return "[" + ", ".join(_value(one, key) for one in value) + "]"
    raise TypeError(f"grid[{key!r}]: {type(value).__name__} is no value of a grid")


def toml_of(grid: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The text of a grid, and the key of each line (empty: a heading)."""
    sections: dict[str, list[tuple[str, str]]] = {"": [], "[grid]": [], "[line]": []}
    for key, value in grid.items():
        section = "" if key in _SWEEP_KEYS else "[line]" if key in _LINE_KEYS else "[grid]"
        name = _NAMES.get(key, key)
        name = name if re.fullmatch(r"[A-Za-z0-9_]+", name) else json.dumps(name)
        sections[section].append((key, f"{name} = {_value(value, key)}"))
    lines: list[str] = []
    keys: list[str] = []
    for heading, entries in sections.items():
        if heading == "[grid]" or (heading and entries):
            lines.append(heading)
            keys.append("")
        for key, line in entries:
            lines.append(line)
            keys.append(key)
    return "\n".join(lines) + "\n", keys


def _losses_of(name: str, folder: pathlib.Path | None) -> str | None:
    if not name:
        return None
    return (pathlib.Path(name) if folder is None else folder / name).read_text(encoding="utf-8")


def spec_of(
    grid: Grid,
    seed: int | None = None,
    packets: int | None = None,
    relative_error: float | None = None,
) -> Spec:
    """Reads a grid. Raises Error for the first mistake, with its place."""
    folder: pathlib.Path | None = None
    place: Callable[[re.Match[str]], str]
    if isinstance(grid, Mapping):
        toml, keys = toml_of(grid)

        def place(at: re.Match[str]) -> str:
            line = int(at[1]) - 1
            return f"grid[{keys[line]!r}]: " if line < len(keys) and keys[line] else "grid: "

    else:
        file = "" if isinstance(grid, str) and "\n" in grid else os.fspath(grid)
        toml = text_of(grid)
        if file:
            folder = pathlib.Path(file).parent
        if len(toml.encode()) > _SIZE_MAX:
            raise Error(f"{file or 'the text of the grid'} is longer than 1 MiB")

        def place(at: re.Match[str]) -> str:
            return f"{file or 'grid'}:{at[1]}:{at[2]}: "

    spec = Spec(toml, None, seed, packets, relative_error)
    try:
        losses = _losses_of(_wireproof.Sweep(toml).loss_trace, folder)
        spec = dataclasses.replace(spec, losses=losses)
        spec.sweep()
    except Error as error:
        text = re.sub(r"^sweep:(\d+):(\d+): ", place, str(error))
        raise Error(text, error.status) from None
    return spec
