// Measures a page: its width, and the labels of each picture that is shown.
(() => {
  const root = document.documentElement;
  const found = { Pictures: 0, Scroll: root.scrollWidth, Client: root.clientWidth, Height: root.scrollHeight, Touching: [] };
  const named = (svg, text) => (svg.closest("figure")?.querySelector("h3")?.textContent ?? "picture") + ": " + text;
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    if (frame.width === 0) continue;
    found.Pictures++;
    const labels = [...svg.querySelectorAll("text")].filter((t) => t.textContent.trim()).map((t) => ({ name: t.textContent, box: t.getBoundingClientRect() }));
    for (const [i, a] of labels.entries()) {
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
  return found;
})()
