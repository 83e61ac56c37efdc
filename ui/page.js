"use strict";
// Draws the charts of the page with uPlot, and keeps its numbers up to date.
(() => {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const digits = (x) => (x === null || x === undefined ? "–" : x.toLocaleString("en-US", { maximumFractionDigits: x < 10 ? 3 : 0 }));
  const drawn = []; // functions that draw a chart anew

  // chart shows lines of a series: [name, field of the series, colour, dash].
  const chart = (at, lines, title) => {
    let plot, series;
    const data = () => [series.at, ...lines.map(([, field]) => series[field])];
    const say = () => {
      const last = series.at.length - 1;
      at.setAttribute("aria-label", title + ". " + (last < 0 ? "There are no numbers yet." : "The last: " + lines.map(([name, field]) => name + " " + digits(series[field][last])).join(", ")));
    };
    const draw = () => {
      plot?.destroy();
      const axis = { stroke: colour("soft"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid") } };
      plot = new uPlot({
        width: Math.max(at.clientWidth, 200), height: 230,
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "UTC"),
        scales: { y: { range: (_, __, max) => [0, (max || 1) * 1.05] } },
        axes: [{ ...axis, values: (_, all) => all.map((x) => new Date(x * 1e3).toISOString().slice(11, x % 60 ? 19 : 16)) }, { ...axis, size: 60, values: (_, all) => all.map(digits) }],
        cursor: { drag: { x: true, y: false } },
        series: [{ label: "time", value: (_, x) => (x === null ? "–" : new Date(x * 1e3).toISOString().slice(11, 19)) }].concat(lines.map(([name, , stroke, dash]) => ({
          label: name, stroke: colour(stroke), width: 1.5, dash, spanGaps: true, points: { show: series.at.length < 3 }, value: (_, x) => digits(x),
        }))),
      }, data(), at);
    };
    at.setAttribute("role", "img");
    drawn.push(() => { if (series) draw(); });
    return {
      set(next) { series = next; draw(); say(); },
      add(last, most) { // a later point
        if (!series || !last.at.length || last.at[0] <= series.at[series.at.length - 1]) return;
        for (const field of ["at", ...lines.map(([, f]) => f)]) {
          series[field].push(last[field][0]);
          if (series[field].length > most) series[field].shift();
        }
        plot.setData(data());
        say();
      },
    };
  };
  const results = [["allowed", "allowed", "blue"], ["denied", "denied", "vermilion", [6, 3]], ["denied in shadow", "shadow", "purple", [2, 3]], ["errors", "errors", "orange", [9, 3, 2, 3]]];
  const times = [["half of them", "p50", "blue"], ["99 of 100", "p99", "vermilion", [6, 3]]];
  const load = async (query) => {
    const answer = await fetch("data?" + query, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error("the numbers cannot be read: " + answer.status);
    return answer.json();
  };

  // update makes an element look like another one. Where both have the same elements only texts
  // and attributes change, so that the focus stays, and what was scrolled stays scrolled.
  const update = (old, next) => {
    if (old.nodeType === Node.TEXT_NODE && next.nodeType === Node.TEXT_NODE) {
      if (old.data !== next.data) old.data = next.data;
      return;
    }
    if (old.nodeName !== next.nodeName || old.childNodes.length !== next.childNodes.length) {
      old.replaceWith(next);
      return;
    }
    for (const { name, value } of [...(next.attributes ?? [])]) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    const children = [...next.childNodes];
    [...old.childNodes].forEach((child, i) => update(child, children[i]));
  };
  const show = (id, html) => {
    const at = document.getElementById(id), next = at.cloneNode(false);
    next.innerHTML = html; // which the server has escaped, and in which no script runs
    update(at, next);
  };

  const live = document.getElementById("live");
  if (live) {
    const state = document.getElementById("state"), pause = document.getElementById("pause");
    const rates = chart(document.getElementById("rates"), results, "Answers a second");
    const latencies = chart(document.getElementById("latencies"), times, "How long decisions took, in ms");
    const range = document.getElementById("rates").dataset.range;
    const reload = () => load("range=" + range).then((s) => { rates.set(structuredClone(s)); latencies.set(s); }, (e) => say(e.message));
    const say = (text) => { if (state.textContent !== text) state.textContent = text; };
    let source, events = 0;
    const open = () => {
      source = new EventSource("events");
      source.onopen = () => say("Live: the numbers change each second.");
      source.onerror = () => say(source.readyState === EventSource.CLOSED ? "Not live: the server answers no more. Load the page again." : "Not live: the server does not answer. Trying again.");
      source.onmessage = (message) => {
        const event = JSON.parse(message.data);
        for (const [id, html] of Object.entries(event.parts)) show(id, html);
        if (range === "minutes") { rates.add(event.last, 300); latencies.add(event.last, 300); }
        else if (++events % 10 === 0) reload();
        live.dataset.events = ++shown;
      };
    };
    let shown = 0;
    pause.hidden = false;
    pause.addEventListener("click", () => {
      if (source) { source.close(); source = undefined; pause.textContent = "Go on"; say("Paused."); return; }
      pause.textContent = "Pause";
      say("Connecting.");
      reload().then(open);
    });
    say("Connecting.");
    reload().then(open);
  }

  const rule = document.getElementById("rule");
  if (rule) {
    const answers = chart(rule, results, "Answers a minute");
    load("rule=" + encodeURIComponent(rule.dataset.rule)).then((s) => answers.set(s), (e) => { rule.textContent = e.message; });
  }

  // The form stays as it is while the answer comes.
  const form = document.getElementById("explain-form");
  form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const answer = document.getElementById("answer");
    try {
      const got = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
      const page = new DOMParser().parseFromString(await got.text(), "text/html");
      answer.replaceChildren(...(page.getElementById("answer") ?? page.getElementById("content")).childNodes);
    } catch { answer.textContent = "The server does not answer."; }
  });

  let wide = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== wide) { wide = innerWidth; drawn.forEach((draw) => draw()); } });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach((draw) => draw()));
})();
