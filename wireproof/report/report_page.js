"use strict";
// Draws the plots of a report with dygraphs, and sorts its tables. An x axis of dygraphs has times or
// plain numbers, so a logarithmic axis uses the logarithms as its numbers. On paper, or if no script
// runs, still pictures replace the plots. The code that draws these also defines plotColors.

document.documentElement.classList.add("lively");
const plots = [];
const dark = matchMedia("(prefers-color-scheme: dark)");

function palette() {
  return dark.matches
    ? ["#58a6ff", "#ff7b72", "#56d364", "#d2a8ff", "#e3b341", "#f778ba", "#39c5cf", "#9198a1"]
    : plotColors;
}

// Writes 12300 as 12.3k.
function plain(value) {
  const units = ["", "k", "M", "G", "T"];
  let unit = 0;
  while (Math.abs(value) >= 1000 && unit < 4) {
    value /= 1000;
    unit++;
  }
  const size = Math.abs(value);
  const text = size >= 100 ? value.toFixed(0) : size >= 10 ? +value.toFixed(1) : +value.toPrecision(3);
  return text + units[unit];
}

// Writes 8192 as 8 Ki.
function size(value) {
  if (value >= 1048576) return +(value / 1048576).toPrecision(3) + " Mi";
  if (value >= 1024) return +(value / 1024).toPrecision(3) + " Ki";
  return String(+value.toPrecision(4));
}

function raised(power) {
  return "10" + String(power).replace(/./g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
}

// Writes 1.5e-9 as 1.5·10⁻⁹.
function scientific(value, decimals = 2) {
  if (value === 0) return "0";
  const [digits, power] = value.toExponential(decimals).split("e");
  const short = String(+digits);
  return (short === "1" ? "" : short + "·") + raised(+power);
}

function percent(value) {
  return +(100 * value).toPrecision(4) + " %";
}

// Marks at powers. a and b are the logarithms of the ends. There are as many marks as have room.
function powers(a, b, pixels, name) {
  const low = Math.ceil(a - 1e-9), high = Math.floor(b + 1e-9);
  const step = Math.max(1, Math.ceil((high - low) * 52 / Math.max(pixels, 1)));
  const ticks = [];
  for (let power = low; power <= high; power += step) ticks.push({v: power, label: name(power)});
  return ticks;
}

// Marks at round numbers. a and b are the logarithms of the ends.
function rounds(a, b, pixels) {
  const from = 10 ** a, to = 10 ** b, rough = (to - from) * 52 / Math.max(pixels, 260);
  const power = Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((times) => times * 10 ** power >= rough * (1 - 1e-9)) * 10 ** power;
  const first = Math.ceil(from / step - 1e-9), last = Math.floor(to / step + 1e-9);
  const decimals = Math.min(Math.max(Math.floor(Math.log10(to)) - power, 0), 15);
  const ticks = [];
  for (let i = 0; i <= Math.min(last - first, 40); i++) {
    ticks.push({v: Math.log10((first + i) * step), label: scientific((first + i) * step, decimals)});
  }
  return ticks;
}

// Marks at powers of ten. If there are few, also at their multiples.
function decades(a, b, pixels) {
  const tens = powers(a, b, pixels, raised);
  const low = Math.ceil(a - 1e-9), high = Math.floor(b + 1e-9);
  if (high - low >= 2) return tens;
  for (const digits of [high > low ? [2, 5] : [2, 3, 5], [2, 3, 4, 5, 6, 7, 8, 9]]) {
    const ticks = [...tens];
    for (let power = low - 1; power <= high; power++) {
      for (const digit of digits) {
        const at = power + Math.log10(digit);
        if (at >= a && at <= b) ticks.push({v: at, label: digit + "·" + raised(power)});
      }
    }
    if (ticks.length >= 2) return ticks;
  }
  return rounds(a, b, pixels);
}

function powersOfTwo(a, b, pixels) {
  return powers(a, b, pixels, (power) => size(2 ** power));
}

function escapedHtml(text) {
  const span = document.createElement("span");
  span.textContent = text;
  return span.innerHTML;
}

// The key always shows the names. It shows the values at the pointer. The value of a formula is shown
// with its series.
function keyOf(plot, data) {
  const shown = data.x !== undefined;
  const valued = data.series.filter((series) => series.y !== undefined && series.y !== null);
  let html = shown ? `<span><b>${data.xHTML}</b></span>` : "";
  data.series.forEach((series, i) => {
    if (plot.formulaOf[i] >= 0) return;
    html += `<span><i style="color:${series.color}"></i>${escapedHtml(series.label)}`;
    if (shown && series.y !== undefined && valued.includes(series)) html += ` <b>${series.yHTML}</b>`;
    html += "</span>";
  });
  if (plot.formulaOf.some((of) => of >= 0)) {
    html += '<span><i class="formula"></i>closed form';
    if (shown) {
      for (const series of data.series) {
        const of = plot.formulaOf[data.series.indexOf(series)];
        if (of >= 0 && valued.includes(series)) html += ` <b style="color:${series.color}">${series.yHTML}</b>`;
      }
    }
    html += "</span>";
  }
  return html;
}

function styleOf(plot) {
  const colors = palette();
  const style = {};
  plot.names.forEach((name, i) => {
    const color = colors[plot.colors[i] % colors.length];
    style[name] = plot.formulaOf[i] >= 0
      ? {color, strokeWidth: 1.3, strokePattern: [6, 4], drawPoints: false, fillAlpha: 0}
      : {color, drawPoints: true};
  });
  return {colors: plot.colors.map((i) => colors[i % colors.length]), series: style};
}

function draw(plot) {
  const toX = !plot.logX ? (x) => x : plot.decades ? Math.log10 : Math.log2;
  const fromX = !plot.logX ? (v) => v : plot.decades ? (v) => 10 ** v : (v) => 2 ** v;
  const nameX = plot.decades ? scientific : plot.logX ? size : plain;
  const nameY = plot.percent ? percent : plot.bars && plot.logY ? scientific : plain;
  const axisX = {axisLabelWidth: 64, valueFormatter: (v) => `${plot.xName} ${nameX(fromX(v))}`};
  if (plot.logX) {
    axisX.ticker = plot.decades ? decades : powersOfTwo;
  } else {
    axisX.axisLabelFormatter = plain;
  }
  const axisY = {axisLabelWidth: 64, valueFormatter: nameY, axisLabelFormatter: nameY};
  if (plot.logY && plot.bars) {
    axisY.ticker = (a, b, pixels) =>
      decades(Math.log10(a), Math.log10(b), 2 * pixels).map((t) => ({v: 10 ** t.v, label: t.label}));
  }
  const element = document.getElementById(plot.id);
  const graph = new Dygraph(element, plot.rows.map((row) => [toX(row[0]), ...row.slice(1)]), {
    labels: [plot.xName, ...plot.names], customBars: plot.bars, logscale: plot.logY,
    pointSize: 3, strokeWidth: 1.7, fillAlpha: 0.18, connectSeparatedPoints: true,
    gridLineColor: "rgba(128,136,145,.25)", axisLineColor: "rgba(128,136,145,.7)",
    pixelRatio: Math.max(2, devicePixelRatio), xRangePad: 8, yRangePad: 6, rightGap: 16,
    includeZero: !plot.logY && !plot.percent, xlabel: plot.xName, ylabel: plot.yName,
    legend: "always", labelsDiv: document.getElementById(plot.id + "-key"),
    legendFormatter: (data) => keyOf(plot, data),
    axes: {x: axisX, y: axisY}, ...styleOf(plot),
  });
  plots.push({plot, graph, element});
}

dark.addEventListener("change", () => {
  for (const {plot, graph} of plots) graph.updateOptions(styleOf(plot));
});

// "1 234", "97.3 %" and "1e-9" are numbers. Missing values come last.
function sortKey(cell) {
  const text = cell.textContent.trim();
  const number = parseFloat(text.replace(/[\s\u202f]/g, ""));
  return {text, number};
}

function isBefore(a, b) {
  const numbers = !Number.isNaN(a.number) && !Number.isNaN(b.number);
  return numbers ? a.number - b.number : a.text.localeCompare(b.text);
}

function sortTable(table, column) {
  const heads = [...table.tHead.rows[0].cells];
  const ascending = heads[column].getAttribute("aria-sort") !== "ascending";
  heads.forEach((head, i) =>
    head.setAttribute("aria-sort", i !== column ? "none" : ascending ? "ascending" : "descending"));
  const rows = [...table.tBodies[0].rows].map((row) => ({row, key: sortKey(row.cells[column])}));
  rows.sort((a, b) => {
    if ((a.key.text === "") !== (b.key.text === "")) return a.key.text === "" ? 1 : -1;
    return ascending ? isBefore(a.key, b.key) : isBefore(b.key, a.key);
  });
  table.tBodies[0].append(...rows.map(({row}) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = head.querySelector("[role=button]");
    button.addEventListener("click", () => sortTable(table, column));
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sortTable(table, column);
    });
  });
}
