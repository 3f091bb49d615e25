// Features with a grid: the input as a clickable image with the scores over its pixels, and a tile per class beside it.

const picture = { key: "", cells: [], timer: 0 };
const painting = latest();

function drawPixels() {
  const { grid } = page;
  $("pixels").hidden = !grid || !answersAny();
  if ($("pixels").hidden) return;
  if (picture.key !== `${grid.height}x${grid.width}`) buildPixels(grid);
  const most = Math.max(1e-12, ...Array.from(state.answer.scores, Math.abs));
  picture.cells.forEach((cell) => {
    const features = cell.features;
    if (!features.length) return;
    const on = features.filter((feature) => state.bits[feature]).length / features.length;
    const score = state.answer.scores[page.player_of[features[0]]];
    set(cell.pixel, { "fill-opacity": 0.4 * on });
    set(cell.heat, { class: score < 0 ? "towards0" : "towards1", "fill-opacity": (0.75 * Math.abs(score)) / most });
    set(cell.hit, { "aria-checked": on > 0.5, "data-tip": `${page.features[features[0]].name}: ${on > 0.5 ? "on" : "off"}, score ${signed(score)}` });
  });
  clearTimeout(picture.timer);
  picture.timer = setTimeout(loadTiles, 150);
}

function buildPixels({ height, width, pixels }) {
  picture.key = `${height}x${width}`;
  picture.cells = Array.from({ length: height * width }, () => ({ features: [] }));
  pixels.forEach((pixel, feature) => picture.cells[pixel].features.push(feature));
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "The input as an image; choose a pixel to switch it", class: "pixels" });
  picture.cells.forEach((cell, pixel) => {
    const place = { x: pixel % width, y: Math.floor(pixel / width), width: 1, height: 1 };
    cell.pixel = svg("rect", { ...place, class: "pixel" });
    cell.heat = svg("rect", { ...place, "fill-opacity": 0 });
    cell.hit = svg("rect", { ...place, class: "hit", "data-pixel": pixel, role: "switch", tabindex: pixel ? -1 : 0, "aria-label": `Row ${place.y + 1}, column ${place.x + 1}` });
    drawing.append(cell.pixel, cell.heat, cell.hit);
  });
  const caption = el("figcaption", {}, el("h3", { textContent: "As an image" }), "Choose a pixel to switch it. Orange pixels push towards the explained class, blue ones away from it.");
  $("pixels").replaceChildren(caption, el("div", { className: "image" }, drawing, el("div", { className: "figure", id: "tiles" })));
  const flip = (node) => {
    const features = picture.cells[Number(node.dataset.pixel)].features;
    if (features.length === 1) toggle(features[0], performance.now());
  };
  drawing.addEventListener("click", (event) => event.target.dataset.pixel && flip(event.target));
  drawing.addEventListener("keydown", (event) => {
    const at = Number(event.target.dataset.pixel);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + width, ArrowUp: at - width }[event.key];
    if (event.key === " " || event.key === "Enter") flip(event.target);
    else if (next !== undefined && picture.cells[next]) {
      event.target.setAttribute("tabindex", "-1");
      picture.cells[next].hit.setAttribute("tabindex", "0");
      picture.cells[next].hit.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

// The contributions of the pixels for each class, drawn by the library.
async function loadTiles() {
  const query = gameQuery(state.game);
  query.set("name", "image");
  query.set("bits", state.bits.join(""));
  try {
    const { svg: source } = await ask(`api/figure?${query}`, undefined, painting());
    showDrawing($("tiles"), source);
  } catch (error) {
    if (error.name !== "AbortError") $("tiles").replaceChildren(el("p", { className: "hint", textContent: error.message }));
  }
}
