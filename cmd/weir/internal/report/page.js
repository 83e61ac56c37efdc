
"use strict";
// Draws the line charts of the page with uPlot, and adds what can be done with a page: to
// hide a limit, to zoom to a fault, to copy.
(() => {
  const root = document.documentElement;
  const charts = JSON.parse(document.getElementById("data").textContent);
  const drawn = new Map(); // by id
  const colour = (name, opacity = "") => getComputedStyle(root).getPropertyValue("--" + name).trim() + opacity;

  const digits = (x) => x.toLocaleString("en-US", { maximumSignificantDigits: Math.abs(x) < 100 ? 3 : 12, maximumFractionDigits: 0 });
  const units = [[864e8, "d"], [36e8, "h"], [6e7, "min"], [1e6, "s"], [1e3, "ms"], [1, "µs"]];
  const duration = (micros) => {
    const i = units.findIndex(([size]) => Math.abs(micros) >= size);
    if (i < 0) return "0";
    if (i > 2) return digits(micros / units[i][0]) + " " + units[i][1];
    let [size, name] = units[i];
    const [next, nextName] = units[i + 1];
    const rest = Math.round((micros % size) / next);
    return Math.floor(micros / size) + " " + name + (rest ? " " + rest + " " + nextName : "");
  };
  const moment = (seconds) => new Date(seconds * 1e3).toISOString().replace("T", " ").replace(/(\.000)?Z$/, " UTC");
  const formats = { numbers: digits, powers: digits, durations: duration, lengths: duration, moments: moment };
  // powersOfTen are where a logarithmic axis has a line and a name, as many as there is room for.
  const powersOfTen = (u, side, min, max) => {
    const first = Math.ceil(Math.log10(min) - 1e-9), last = Math.floor(Math.log10(max) + 1e-9);
    const room = side === 0 ? u.bbox.width / devicePixelRatio / 64 : u.bbox.height / devicePixelRatio / 24;
    const every = Math.ceil((last - first + 1) / Math.max(room, 2)), all = [];
    for (let power = first; power <= last; power += every) all.push(10 ** power);
    return all;
  };
  const logarithmic = (axis) => axis.scale === "powers" || axis.scale === "lengths";
  const isMoment = (chart) => chart.x.scale === "moments";
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500].flatMap((n) => [n, n * 1e3]).concat([1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800].map((s) => s * 1e6)).sort((a, b) => a - b);

  // clock is how uPlot labels instants: the step, and what to write at each, at a new year, at a new day.
  const clock = [
    [31536e3, "{YYYY}"], [2419200, "{MMM}", "\n{YYYY}"], [86400, "{MMM} {D}", "\n{YYYY}"], [60, "{HH}:{mm}", "\n{MMM} {D}", null, "\n{MMM} {D}"],
    [1, "{HH}:{mm}:{ss}", "\n{MMM} {D}", null, "\n{MMM} {D}"], [1e-3, "{ss}.{fff}", "\n{HH}:{mm}", null, "\n{HH}:{mm}", null, "\n{HH}:{mm}"],
  ].map((row) => [...row, ...Array(7 - row.length).fill(null), null, 1].slice(0, 9));

  // stack returns the values as they are drawn, and the pairs between which is filled.
  const stack = (chart) => {
    const fills = [];
    let below = null, last = 0;
    const values = chart.series.map((s, i) => {
      if (s.above) fills.push([i + 1, 1]);
      if (!s.stacked) return s.values;
      const top = below ? s.values.map((v, j) => v + below[j]) : s.values;
      if (below) fills.push([i + 1, last]);
      [below, last] = [top, i + 1];
      return top;
    });
    return { values, fills };
  };

  const axis = (of, more) => ({
    stroke: colour("ink"), font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", label: of.label, labelSize: 18,
    grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1 },
    ...(of.scale === "moments" ? {} : { values: (_, all) => all.map((x) => (x === null ? "" : formats[of.scale](x))) }),
    ...(logarithmic(of) ? { splits: powersOfTen, filter: (_, all) => all } : {}),
    ...(of.scale === "durations" ? { incrs: steps, space: 90 } : {}), ...(of.scale === "moments" ? { values: clock } : {}), ...more,
  });

  // nameRows is in how many rows above the picture the names of faults stand.
  const nameRows = (chart) => Math.min(chart.bands?.length ?? 0, 3);

  const behind = (u, chart) => {
    const { ctx, bbox } = u, ratio = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const b of chart.bands ?? []) {
      const [from, to, after] = [b.from, b.to, b.after].map((x) => u.valToPos(x, "x", true));
      ctx.fillStyle = colour("orange", "22");
      ctx.fillRect(to, bbox.top, after - to, bbox.height);
      ctx.fillStyle = colour("orange", "55");
      ctx.fillRect(from, bbox.top, Math.max(to - from, ratio), bbox.height);
    }
    ctx.restore();
  };

  const above = (u, chart) => {
    const { ctx, bbox } = u, ratio = devicePixelRatio;
    ctx.save();
    ctx.font = 12 * ratio + "px system-ui, sans-serif";
    ctx.fillStyle = colour("ink");
    ctx.strokeStyle = colour("soft");
    ctx.textAlign = "left";
    ctx.setLineDash([5 * ratio, 4 * ratio]);
    const ends = [];
    for (const b of chart.bands ?? []) {
      const x = u.valToPos(b.from, "x", true), wide = ctx.measureText(b.name).width;
      if (x < bbox.left - 1 || x > bbox.left + bbox.width) continue;
      const at = Math.max(bbox.left, Math.min(x, bbox.left + bbox.width - wide));
      let row = ends.findIndex((end) => end < at);
      if (row < 0) row = ends.length;
      ends[row] = at + wide + 6 * ratio;
      if (row < nameRows(chart)) ctx.fillText(b.name, at, bbox.top - (4 + 14 * row) * ratio);
    }
    for (const m of chart.marks ?? []) {
      const at = u.valToPos(m.at, m.upright ? "x" : "y", true);
      ctx.beginPath();
      if (m.upright) { ctx.moveTo(at, bbox.top); ctx.lineTo(at, bbox.top + bbox.height); } else { ctx.moveTo(bbox.left, at); ctx.lineTo(bbox.left + bbox.width, at); }
      ctx.stroke();
      ctx.textAlign = "right";
      const x = m.upright ? at : bbox.left + bbox.width;
      ctx.fillText(m.name, x - 4 * ratio, (m.upright ? bbox.top + bbox.height : at) - 5 * ratio);
    }
    ctx.restore();
  };

  const draw = (chart) => {
    const at = document.getElementById(chart.id);
    const { values, fills } = stack(chart);
    const most = Math.max(chart.y.max, ...values.flat(), ...(chart.marks ?? []).filter((m) => !m.upright).map((m) => m.at));
    const time = isMoment(chart);
    const options = {
      width: at.clientWidth, height: at.clientWidth < 400 ? 250 : 280,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "UTC"),
      padding: [6 + 14 * nameRows(chart), null, null, null],
      cursor: { sync: chart.group ? { key: chart.group } : undefined, drag: { x: true, y: false } },
      scales: {
        x: { time, distr: logarithmic(chart.x) ? 3 : 1 },
        y: logarithmic(chart.y) ? { distr: 3 } : { range: [0, (most || 1) * 1.05] },
      },
      axes: [axis(chart.x, { size: time ? 44 : 30 }), axis(chart.y, { size: 64 })],
      legend: { live: true },
      series: [{ label: chart.x.label, value: (_, x) => (x === null ? "–" : formats[chart.x.scale](x)) }].concat(chart.series.map((s, i) => ({
        label: s.name, stroke: colour(s.colour), width: s.stacked || s.above ? 0 : 1.5, dash: s.dashed ? [6, 4] : undefined, points: { show: false },
        fill: s.stacked || s.above ? colour(s.colour, "b0") : undefined,
        paths: s.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
        value: (_u, _v, _s, index) => (index === null ? "–" : digits(chart.series[i].values[index])),
      }))),
      bands: fills.map((series) => ({ series })),
      hooks: { drawClear: [(u) => behind(u, chart)], draw: [(u) => above(u, chart)] },
    };
    drawn.get(chart.id)?.destroy();
    drawn.set(chart.id, new uPlot(options, [time ? chart.at.map((x) => x / 1e6) : chart.at, ...values], at));
  };

  const button = (text, act) => {
    const b = document.createElement("button");
    b.type = "button";
    b.textContent = text;
    b.addEventListener("click", () => act(b));
    return b;
  };
  const copy = async (text, b) => {
    const before = b.textContent;
    try { await navigator.clipboard.writeText(text); b.textContent = "copied"; } catch { b.textContent = "not allowed here"; }
    setTimeout(() => { b.textContent = before; }, 1500);
  };
  const zoom = (chart, min, max) => {
    for (const other of charts) if (other === chart || (chart.group && other.group === chart.group)) drawn.get(other.id)?.setScale("x", { min, max });
  };

  const tools = (chart) => {
    const line = document.createElement("div");
    const end = chart.at[chart.at.length - 1], scale = isMoment(chart) ? 1e-6 : 1;
    const seen = chart.bands ?? [];
    for (const b of seen.slice(0, 12)) {
      line.append(button(b.name, () => { const room = (b.after - b.from) / 5 || end / 50; zoom(chart, Math.max(chart.at[0], b.from - room), Math.min(end, b.after + room)); }));
    }
    line.append(button("all", () => zoom(chart, chart.at[0] * scale, end * scale)));
    line.append(button("copy numbers", (b) => copy([[chart.x.label, ...chart.series.map((s) => s.name)], ...chart.at.map((x, i) => [x, ...chart.series.map((s) => s.values[i])])].map((row) => row.join("\t")).join("\n"), b)));
    document.getElementById(chart.id).after(line);
  };

  root.classList.add("scripts");
  for (const chart of charts) { draw(chart); tools(chart); }
  for (const pre of document.querySelectorAll("pre.command")) pre.after(button("copy", (b) => copy(pre.textContent, b)));
  for (const box of document.querySelectorAll(".limits input")) {
    box.addEventListener("change", () => {
      for (const figure of document.querySelectorAll("figure[data-limit]")) if (figure.dataset.limit === box.value) figure.hidden = !box.checked;
    });
  }
  let wide = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== wide) { wide = innerWidth; charts.forEach(draw); } });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach(draw));
})();
