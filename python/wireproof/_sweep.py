"""Sweeps: all points of a grid, on the processors of this host or on a cluster of Dask."""

from __future__ import annotations

import concurrent.futures
import contextlib
import html
import importlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ._curve import Curve
from ._grid import Grid, Spec, spec_of

if TYPE_CHECKING:
    import numpy

Progress = Callable[[int, int], object]

# In the order of `wireproof sweep --csv`.
_COLUMNS = (
    "protocol ber packets payload etr throughput relative_error closed_form resent timeouts deviation"
    " loop buffer ack_every timer acks naks buffer_mean buffer_most resend_ratio closed_ratio lost closed_at_edge"
    " latency_p50 latency_p99 latency_p99.9 latency_max preset goodput stopped"
    " fec burst_bits failure miscorrected fit"
).split()
_OF_ALL = set(_COLUMNS[: _COLUMNS.index("preset")])
_PLAIN = {"line": {"preset", "goodput"}, "unit_line": set(_COLUMNS[-5:])}


def _flat(point: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for key, value in point.items():
        if key == "asked":
            continue
        if not isinstance(value, dict):
            row[key] = value
            continue
        for name, inner in value.items():
            plain = name in _PLAIN.get(key, ())
            parts = inner.items() if isinstance(inner, dict) else [("", inner)]
            for last, part in parts:
                row["_".join(filter(None, ("" if plain else key, name, last)))] = part
    return row


class SweepResult(Sequence[dict[str, Any]]):
    """The points of a sweep, in the order of the grid: the last key changes fastest.

    A point is a dict with the values of `wireproof sweep --json`. The columns have the names of
    `wireproof sweep --csv`, and then those that only the JSON has. Lengths and times are in bytes
    on the line, or in what the name says (`line_latency_ns_p50`); `goodput` and `line_line_rate`
    are in bytes per second.
    """

    def __init__(self, name: str, seed: int, points: list[dict[str, Any]], spec: Spec) -> None:
        self._spec = spec
        self.name = name
        self.seed = seed
        self.points = points
        self._rows = [_flat(point) for point in points]
        met = dict.fromkeys(key for row in self._rows for key in row)
        known = [column for column in _COLUMNS if column in met or column in _OF_ALL]
        self.columns: list[str] = known + [column for column in met if column not in known]

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: Any) -> Any:
        return self.points[index]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.points)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SweepResult):
            return NotImplemented
        return (self.name, self.seed, self.points) == (other.name, other.seed, other.points)

    __hash__ = None  # type: ignore[assignment]

    def column(self, name: str) -> list[Any]:
        """The values of a column; None for a point that does not have it."""
        if name not in self.columns:
            raise KeyError(f"there is no column {name!r}; there are {', '.join(self.columns)}")
        return [row.get(name) for row in self._rows]

    def to_numpy(self) -> numpy.ndarray[Any, Any]:
        """A structured array with a field for each column. A missing number is NaN."""
        np = importlib.import_module("numpy")
        fields = []
        for name in self.columns:
            values = self.column(name)
            kinds = {type(value) for value in values}
            if kinds == {bool} or name in ("stopped", "closed_at_edge"):
                array = np.array([bool(value) for value in values])
            elif str in kinds:
                array = np.array([value or "" for value in values])
            elif kinds == {int} and all(value < 1 << 63 for value in values):
                array = np.array(values, dtype=np.int64)
            else:
                array = np.array([np.nan if v is None else float(v) for v in values], dtype=float)
            fields.append((name, array))
        table = np.empty(len(self), dtype=[(name, array.dtype) for name, array in fields])
        for name, array in fields:
            table[name] = array
        return table  # type: ignore[no-any-return]

    def to_pandas(self) -> Any:
        """A DataFrame with a row for each point."""
        pandas = importlib.import_module("pandas")
        return pandas.DataFrame({name: self.column(name) for name in self.columns})

    def curve(self) -> Curve:
        """Draws ETR, resend ratio and throughput, as `wireproof sweep --svg` does.

        The x axis is the setting of which a curve has the most values. Each combination of the
        other settings that vary is a curve. Closed forms are dashed. Points that were stopped are
        left out. Raises Error if there is no point to draw.
        """
        texts = [json.dumps(point) for point in self.points]
        return Curve(self.name, self._spec.sweep().draw(texts))

    def _repr_html_(self) -> str:
        shown = [c for c in self.columns if any(value is not None for value in self.column(c))]
        most = 200
        head = "".join(f"<th>{html.escape(column)}</th>" for column in shown)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(row.get(c)))}</td>" for c in shown) + "</tr>"
            for row in self._rows[:most]
        )
        rest = f"<p>and {len(self) - most} more points</p>" if len(self) > most else ""
        caption = f"{html.escape(self.name)}: {len(self)} points, seed {self.seed}"
        return (
            f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table>{rest}"
        )

    def __str__(self) -> str:
        shown = ["protocol", "ber", "payload", "packets", "etr", "closed_form", "throughput"]
        table = [shown] + [[_cell(row.get(c)) for c in shown] for row in self._rows]
        widths = [max(len(line[i]) for line in table) for i in range(len(shown))]

        def text(line: list[str]) -> str:
            first, *others = line
            cells = [cell.rjust(width) for cell, width in zip(others, widths[1:])]
            return "  ".join([first.ljust(widths[0]), *cells])

        return "\n".join(map(text, table))

    def __repr__(self) -> str:
        return f"<SweepResult {self.name!r}: {len(self)} points, seed {self.seed}>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class _Stopped(Exception):
    pass


def run_point(index: int, spec: Spec, jump: bool, seconds: float) -> str:
    """A task of Dask: a pure function of its arguments."""
    return spec.run(index, jump, seconds, None)


def _on_threads(
    spec: Spec, points: int, jump: bool, seconds: float, workers: int, report: Callable[[], object]
) -> list[str]:
    stop = threading.Event()

    def check(_share: float) -> None:
        if stop.is_set():
            raise _Stopped

    texts: list[str] = [""] * points
    pool = concurrent.futures.ThreadPoolExecutor(workers, "wireproof-sweep")
    try:
        index_of = {
            pool.submit(spec.run, i, jump, seconds, check): i for i in range(points)
        }
        waiting = set(index_of)
        while waiting:
            # In short steps: the main thread handles signals between them.
            done, waiting = concurrent.futures.wait(
                waiting, 0.1, concurrent.futures.FIRST_COMPLETED
            )
            for future in done:
                texts[index_of[future]] = future.result()
                report()
        return texts
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _on_dask(
    client: Any, spec: Spec, points: int, jump: bool, seconds: float, report: Callable[[], object]
) -> list[str]:
    distributed = importlib.import_module("distributed")
    # Dask runs the tasks of a lost worker again. A point needs no more than its arguments.
    futures = client.map(
        run_point, range(points), spec=spec, jump=jump, seconds=seconds, pure=seconds == 0
    )
    index_of = {future: i for i, future in enumerate(futures)}
    texts: list[str] = [""] * points
    try:
        for future, text in distributed.as_completed(futures, with_results=True):
            texts[index_of[future]] = text
            report()
        return texts
    finally:
        with contextlib.suppress(Exception):  # the cluster may be gone
            client.cancel([future for future in futures if not future.done()])


def sweep(
    grid: Grid,
    client: Any = None,
    *,
    seed: int | None = None,
    packets: int | None = None,
    relative_error: float | None = None,
    point_seconds: float | None = None,
    jump: bool = True,
    workers: int | None = None,
    progress: Progress | None = None,
) -> SweepResult:
    """Simulates all points of a grid. The results are those of `wireproof sweep` for this grid.

    grid -- the name of a TOML file that the command reads, too (docs/guide/links/sweeps.md), its text, or a
        dict: {"protocol": ["pcie", "ideal"], "ber": [1e-7, 1e-6], "payload": range(256, 4097, 256)}.
        The keys are those of the file; those of its table [line] stand in the same dict. A value
        is one value or a list; "ber" may be {"from": 1e-9, "to": 1e-5, "points": 13}. A string
        without a line end is the name of a file.
    client -- a distributed.Client: each point is a task of Dask. Without it, the points run in
        threads of this process.
    seed, packets, relative_error -- replace those of the grid.
    point_seconds -- a point that takes longer is stopped: it has the results so far, and `stopped`.
        It replaces that of the grid. Only such a point depends on the speed of the host.
    workers -- the number of threads; None: one for each processor.
    progress -- called with the number of finished points and of all points.

    The seed of a point follows from the seed of the sweep and the settings of the point. So the
    results do not depend on the number of workers, or on the order in which they finish.
    Ctrl-C ends the sweep. Raises Error for the first mistake in the grid, with its place.
    """
    spec = spec_of(grid, seed, packets, relative_error)
    read = spec.sweep()
    points = read.points
    seconds = read.point_seconds if point_seconds is None else point_seconds
    finished = 0

    def report() -> None:
        nonlocal finished
        finished += 1
        if progress is not None:
            progress(finished, points)

    if client is None:
        count = workers or len(os.sched_getaffinity(0))
        texts = _on_threads(spec, points, jump, seconds, count, report)
    else:
        texts = _on_dask(client, spec, points, jump, seconds, report)
    name = read.name
    if not isinstance(grid, dict) and not (isinstance(grid, str) and "\n" in grid) and name == "sweep":
        name = os.path.splitext(os.path.basename(os.fspath(grid)))[0]  # type: ignore[arg-type]
    return SweepResult(name, read.seed, [json.loads(text) for text in texts], spec)
