const api = document.querySelector('meta[name="api"]').content;
const field = (id) => document.getElementById(id);

// parseItems reads a list of items such as "api";r=9;t=1 into a map from name to parameters.
function parseItems(text) {
  const items = new Map();
  for (const [, name, parameters] of (text ?? "").matchAll(/"((?:[^"\\]|\\.)*)"((?:;[^,;]+)*)/g)) {
    const values = {};
    for (const [, key, value] of parameters.matchAll(/;([^=;]+)=([^;]+)/g)) values[key.trim()] = value;
    items.set(name.replace(/\\(.)/g, "$1"), values);
  }
  return items;
}

async function ask() {
  const response = await fetch(api + field("path").value, {
    headers: { "X-Api-Key": field("key").value },
    cache: "no-store",
  });
  await response.arrayBuffer();
  return response;
}

function show(response) {
  const wait = response.headers.get("Retry-After");
  field("answer").textContent = response.ok
    ? `${response.status}: admitted.`
    : `${response.status}: ${wait ? `denied, ask again in ${wait} s.` : "denied."}`;
  field("answer").className = response.ok ? "" : "denied";
  const quotas = parseItems(response.headers.get("RateLimit"));
  const rows = [];
  for (const [name, { q }] of parseItems(response.headers.get("RateLimit-Policy"))) {
    const { r, t } = quotas.get(name) ?? {};
    const row = document.createElement("tr");
    row.dataset.limit = name;
    const meter = document.createElement("meter");
    Object.assign(meter, { max: Number(q), value: Number(r ?? q) });
    meter.setAttribute("aria-label", `left of ${name}`);
    const cells = [name, r ?? "?", q, t ? `${t} s` : ""].map((text) => {
      const cell = document.createElement("td");
      cell.textContent = text;
      return cell;
    });
    cells[1].prepend(meter);
    row.append(...cells);
    rows.push(row);
  }
  field("limits").replaceChildren(...rows);
}

async function askTimes(n) {
  for (const button of document.querySelectorAll("button")) button.disabled = true;
  try {
    for (let i = 0; i < n; i++) show(await ask());
  } catch (error) {
    field("answer").textContent = `No answer: ${error.message}`;
    field("answer").className = "denied";
  } finally {
    for (const button of document.querySelectorAll("button")) button.disabled = false;
  }
}

field("once").addEventListener("click", () => askTimes(1));
field("often").addEventListener("click", () => askTimes(12));
