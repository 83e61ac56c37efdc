// Measures a page: its width, the labels of each picture that is shown, and what of its
// texts cannot be seen.
(() => {
  const root = document.documentElement;
  const found = { Pictures: 0, Scroll: root.scrollWidth, Client: root.clientWidth, Height: root.scrollHeight, Touching: [], Cut: [] };
  const named = (svg, text) => (svg.closest("figure")?.querySelector("h3")?.textContent ?? "picture") + ": " + text;
  for (const canvas of document.querySelectorAll("canvas, .bars")) {
    if (canvas.getBoundingClientRect().width > 0) found.Pictures++;
  }
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    if (frame.width === 0) continue;
    found.Pictures++;
    const labels = [...svg.querySelectorAll("text")].filter((t) => t.textContent.trim()).map((t) => ({ name: t.textContent, box: t.getBoundingClientRect() }));
    for (const [i, a] of labels.entries()) {
      if (a.name.includes("…")) found.Cut.push(named(svg, `the label "${a.name}" is cut`));
      if (a.box.left < frame.left - 1 || a.box.right > frame.right + 1 || a.box.top < frame.top - 2 || a.box.bottom > frame.bottom + 2) {
        found.Touching.push(named(svg, `the label "${a.name}" sticks out`));
      }
      for (const b of labels.slice(i + 1)) {
        // Boxes are as high as lines, so some of the height is empty.
        const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
        const high = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
        if (wide > 0 && high > 4) found.Touching.push(named(svg, `the labels "${a.name}" and "${b.name}" touch`));
      }
    }
  }
  const wider = (e) => e.scrollWidth > e.clientWidth + 1;
  for (const cell of document.querySelectorAll("th, td")) {
    if (wider(cell)) found.Cut.push(`the text "${cell.textContent}" sticks out of its cell`);
  }
  for (const e of document.querySelectorAll("body *:not(svg, svg *)")) {
    const style = getComputedStyle(e);
    const name = e.getAttribute("aria-label") ?? `<${e.localName}>`;
    if (!wider(e) || style.overflowX === "visible") continue;
    if (style.overflowX === "hidden" || style.overflowX === "clip") {
      found.Cut.push(`${name} is cut off at the side`);
      continue;
    }
    // It scrolls. The edge of a background that stays says so, and its first column says
    // what the others are about.
    if (!style.backgroundAttachment.includes("local")) found.Cut.push(`${name} scrolls sideways and does not show it`);
    for (const row of e.querySelectorAll("tr")) {
      if (getComputedStyle(row.firstElementChild).position !== "sticky") {
        found.Cut.push(`the first column of ${name} does not stay where it scrolls`);
        break;
      }
    }
    if (e.querySelector("table") && innerWidth >= 1000) found.Cut.push(`the table ${name} does not fit a desk`);
  }
  return found;
})()
