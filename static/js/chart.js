// The token chart: uPlot draws the bars; grounds, limits, flags and the cursor are SVG over it, so that any chart library would serve.
// All positions are attributes, all colours come from the stylesheet.
(function () {
  "use strict";

  const section = document.getElementById("chart");
  if (!section) return;
  const plot = section.querySelector("[data-plot]");
  const SVG = "http://www.w3.org/2000/svg";
  const LEFT = 46, TOP = 38, BAND = 44;
  let data = null, chart = null, overlay = null, at = null, span = null;

  const phone = () => matchMedia("(max-width: 799px)").matches;
  const right = () => (matchMedia("(max-width: 1199px)").matches ? 8 : 232);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const figure = (n) => (n === null || n === undefined ? "–" : n.toLocaleString("en"));
  const short = (n) => (n >= 1e6 ? +(n / 1e6).toFixed(1) + "M" : n >= 1e3 ? +(n / 1e3).toFixed(0) + "k" : String(n));

  // light-dark() is resolved by the browser only where a colour is used, so a probe is painted with it.
  function resolved(name) {
    const probe = document.createElement("i");
    probe.className = "probe-" + name;
    probe.hidden = false;
    plot.appendChild(probe);
    const value = getComputedStyle(probe).color;
    probe.remove();
    return value;
  }

  function make(name, attributes, parent, words) {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (words !== undefined) element.textContent = words;
    parent.appendChild(element);
    return element;
  }

  function scaleTop() {
    const largest = Math.max(...data.n.map((_, i) => data.cached[i] + data.fresh[i] + data.output[i]));
    const limits = data.thresholds.map((one) => one.tokens);
    // A window that is never neared would press the bars flat; then its lines lie outside and are only named.
    const near = limits.filter((tokens) => tokens <= largest * 4);
    return Math.max(largest * 1.08, ...near.map((tokens) => tokens * 1.01), 1);
  }

  function draw() {
    plot.textContent = "";
    overlay = null;
    const width = plot.clientWidth, height = plot.clientHeight;
    if (!data.n.length) {
      const none = document.createElement("p");
      none.className = "none serif";
      none.textContent = data.steps ? "The agent records no usage for these steps." : "No steps yet: nothing was sent in this session.";
      plot.appendChild(none);
      return;
    }
    const count = data.n.length;
    const cached = data.cached, prompt = cached.map((value, i) => value + data.fresh[i]), all = prompt.map((value, i) => value + data.output[i]);
    const gone = new Set();
    data.rolled.forEach((one) => { for (let i = one.first; i <= one.last; i++) gone.add(i); });
    const kept = (values) => values.map((value, i) => (gone.has(i) ? null : value));
    const bars = uPlot.paths.bars({ size: [1, Infinity], gap: 0, align: 0 });
    const layer = (name) => ({ paths: bars, fill: resolved(name), stroke: resolved(name), width: 0, points: { show: false } });
    const top = scaleTop();
    chart = new uPlot({
      width, height: height - BAND + 18,
      padding: [TOP, right(), 6, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false, range: [-0.5, count - 0.5] }, y: { range: [0, top] } },
      axes: [
        { show: false },
        { size: LEFT, gap: 6, stroke: resolved("ink-2"), font: "11px " + (colour("--sans") || "sans-serif"), ticks: { show: false },
          grid: { stroke: resolved("rule"), width: 1 }, splits: (u, axis, low, high) => ticks(high), values: (u, values) => values.map(short) },
      ],
      hooks: { drawClear: [grounds], draw: [() => overlay && paint()] },
      series: [{}, layer("ink"), layer("accent"), layer("cached")],
    }, [data.n.map((_, i) => i), kept(all), kept(prompt), kept(cached)], plot);
    overlay = make("svg", { class: "overlay", width, height, "aria-hidden": "true" }, plot);
  }

  function ticks(high) {
    const rough = high / (phone() ? 2.2 : 4.2), size = Math.pow(10, Math.floor(Math.log10(rough)));
    const unit = [1, 2, 2.5, 5, 10].map((n) => n * size).find((n) => n >= rough) || rough;
    const out = [];
    for (let value = 0; value <= high; value += unit) out.push(value);
    return out;
  }

  // Turns as alternating grounds, drawn under the bars; the span of a chosen goal in the accent's ground.
  function grounds(u) {
    const box = u.bbox, each = box.width / data.n.length;
    u.ctx.save();
    u.ctx.fillStyle = resolved("ghost");
    data.turns.forEach(function ([turn, first, last], i) {
      if (i % 2) u.ctx.fillRect(box.left + first * each, box.top, (last - first + 1) * each, box.height);
    });
    if (span) {
      u.ctx.fillStyle = resolved("accent-bg");
      u.ctx.fillRect(box.left + span[0] * each, box.top, (span[1] - span[0] + 1) * each, box.height);
    }
    u.ctx.restore();
  }

  const ratio = () => devicePixelRatio || 1;
  function frame() {
    const box = chart.bbox;
    return { left: box.left / ratio(), top: box.top / ratio(), width: box.width / ratio(), height: box.height / ratio() };
  }

  function paint() {
    overlay.textContent = "";
    const box = frame(), count = data.n.length, each = box.width / count, foot = box.top + box.height;
    const x = (i) => box.left + i * each;
    const y = (tokens) => chart.valToPos(tokens, "y");
    const height = (tokens) => box.top + y(tokens);

    // Rolled back: a dashed ground over the turns, the bars as outline, an arrow back.
    data.rolled.forEach(function (one) {
      const from = x(one.first), to = x(one.last + 1);
      make("rect", { class: "rolled", x: from, y: box.top, width: Math.max(2, to - from), height: box.height }, overlay);
      let path = "";
      for (let i = one.first; i <= one.last; i++) {
        const level = height(data.cached[i] + data.fresh[i] + data.output[i]);
        path += (path ? "L" : "M") + x(i) + " " + level + "L" + x(i + 1) + " " + level;
      }
      make("path", { class: "back", d: path, "stroke-dasharray": "2 2" }, overlay);
      if (to - from > 24) make("path", { class: "back", d: `M${to - 3} ${box.top + 4}v8M${to - 3} ${box.top + 8}H${from + 4}m5 -4l-5 4l5 4` }, overlay);
      if (!phone()) make("text", { x: from, y: 13 }, overlay, one.label);
    });

    // Limits, labelled once at the right with leaders.
    const wide = right() > 100;
    const labels = [];
    data.thresholds.forEach(function (one) {
      const level = height(one.tokens);
      if (level < box.top - 1) { labels.push({ one, level: box.top - 12, off: true }); return; }
      make("line", { class: "limit " + one.name, x1: box.left, x2: box.left + box.width, y1: level, y2: level }, overlay);
      labels.push({ one, level, off: false });
    });
    if (wide) {
      labels.sort((a, b) => a.level - b.level);
      let last = -Infinity;
      const heights = labels.map((label) => (last = Math.max(label.level + 4, last + 15)));
      // Where lines lie close together their labels are spread round them.
      for (let i = heights.length - 1, floor = foot; i >= 0; i--) { heights[i] = Math.min(heights[i], floor); floor = heights[i] - 15; }
      labels.forEach(function (label, i) {
        const start = box.left + box.width, level = Math.max(label.level, box.top);
        if (!label.off) make("path", { class: "leader " + label.one.name, d: `M${start} ${level}h6L${start + 16} ${heights[i] - 4}h3` }, overlay);
        const words = make("text", { x: start + 22, y: heights[i], class: label.one.name }, overlay);
        make("tspan", { class: "figure" }, words, figure(label.one.tokens));
        make("tspan", {}, words, " " + label.one.label + (label.off ? " ↑" : ""));
        make("tspan", { class: "quiet" }, words, " · " + label.one.whose);
        make("title", {}, words, label.one.rule);
      });
    }

    // Turns: a bracket and the number below.
    let written = -Infinity;
    const current = at === null ? null : data.turn[at];
    data.turns.forEach(function ([turn, first, last]) {
      const from = x(first) + 1, to = x(last + 1) - 1, middle = (from + to) / 2, mine = turn === current;
      make("line", { class: mine ? "turn-here" : "turn-line", x1: from, x2: Math.max(from + 1, to), y1: foot + 5, y2: foot + 5 }, overlay);
      const words = to - from > 44 && !phone() ? "turn " + turn : String(turn);
      const half = words.length * 3.2;
      if (mine || (middle - half > written + 4 && to - from > half)) {
        make("text", { x: middle, y: foot + 19, "text-anchor": "middle", class: mine ? "here" : "" }, overlay, words);
        written = middle + half;
      }
    });

    // Compactions: a black vertical with a numbered flag; strategy and before → after where there is room.
    let free = box.left;
    data.flags.forEach(function (flag) {
      const place = x(flag.at);
      make("line", { class: "flag-line", x1: place, x2: place, y1: 18, y2: foot }, overlay);
      make("rect", { class: "flag", x: place - 8, y: 3, width: 16, height: 16, rx: 2 }, overlay);
      make("text", { class: "flag-number", x: place, y: 15, "text-anchor": "middle" }, overlay, flag.number);
      const plain = flag.label.replace(/ \(.*/, "");
      const figures = flag.before !== null && flag.after !== null ? " " + figure(flag.before) + " → " + figure(flag.after) : "";
      const length = (plain.length + figures.length) * 6.1;
      const next = data.flags.find((other) => other.at > flag.at);
      const limit = next ? x(next.at) - 12 : box.left + box.width + (wide ? 100 : 0);
      let start = null, anchor = "start";
      if (place + 14 + length < limit) { start = place + 14; free = start + length; }
      else if (place - 14 - length > free) { start = place - 14; anchor = "end"; free = place + 10; }
      else free = place + 10;
      if (start !== null && !phone()) {
        const words = make("text", { x: start, y: 15, "text-anchor": anchor }, overlay);
        make("tspan", { class: "figure" }, words, plain);
        make("tspan", {}, words, figures);
      }
      make("title", {}, overlay, flag.label + figures);
    });

    // The cursor: the step the transcript stands at.
    if (at !== null) {
      const place = x(at) + each / 2;
      make("line", { class: "cursor", x1: place, x2: place, y1: box.top, y2: foot + 5 }, overlay);
      make("path", { class: "cursor-head", d: `M${place - 5} ${box.top - 3}h10l-5 7z` }, overlay);
      const words = "step " + data.n[at], half = words.length * 3.3 + 5;
      const middle = Math.min(Math.max(place, box.left + half), box.left + box.width - half);
      make("rect", { class: "cursor-head", x: middle - half, y: foot + 24, width: half * 2, height: 16, rx: 2 }, overlay);
      make("text", { class: "cursor-words", x: middle, y: foot + 36, "text-anchor": "middle" }, overlay, words);
    }
  }

  function barOf(step) {
    let low = 0, high = data.n.length - 1, found = 0;
    while (low <= high) { const middle = (low + high) >> 1; if (data.n[middle] <= step) { found = middle; low = middle + 1; } else high = middle - 1; }
    return found;
  }
  function barAt(seq) {
    let low = 0, high = data.seq.length - 1, found = 0;
    while (low <= high) { const middle = (low + high) >> 1; if (data.seq[middle] <= seq) { found = middle; low = middle + 1; } else high = middle - 1; }
    return found;
  }

  // The same data as a table, by turns, for those who do not see the drawing.
  function table() {
    const target = section.querySelector("[data-table]");
    target.textContent = "";
    const element = document.createElement("table");
    element.createCaption().textContent = "Tokens per request, the largest of each turn";
    const head = element.createTHead().insertRow();
    ["turn", "steps", "cached", "fresh", "output", "context"].forEach((name) => { const cell = document.createElement("th"); cell.scope = "col"; cell.textContent = name; head.appendChild(cell); });
    const body = element.createTBody();
    data.turns.slice(0, 60).forEach(function ([turn, first, last]) {
      let top = first;
      for (let i = first; i <= last; i++) if (data.cached[i] + data.fresh[i] + data.output[i] > data.cached[top] + data.fresh[top] + data.output[top]) top = i;
      const row = body.insertRow();
      [turn, data.n[first] + " to " + data.n[last], data.cached[top], data.fresh[top], data.output[top], data.cached[top] + data.fresh[top] + data.output[top]].forEach((value) => { row.insertCell().textContent = typeof value === "number" ? figure(value) : value; });
    });
    target.appendChild(element);
    const more = document.createElement("a");
    more.href = section.dataset.chart.replace(/\/steps\.json.*/, "/steps");
    more.textContent = "Every step as a table";
    target.appendChild(more);
    const list = section.querySelector("[data-limits]");
    list.textContent = "";
    data.thresholds.forEach(function (one) {
      const item = document.createElement("li");
      item.className = one.name;
      const strong = document.createElement("b");
      strong.textContent = figure(one.tokens);
      item.append(strong, " " + one.label + " · " + one.rule);
      list.appendChild(item);
    });
  }

  function clicked(event) {
    if (!chart) return;
    const box = frame(), place = event.clientX - plot.getBoundingClientRect().left - box.left;
    if (place < 0 || place > box.width || !data.n.length) return;
    const bar = Math.min(data.n.length - 1, Math.floor(place / (box.width / data.n.length)));
    at = bar;
    paint();
    if (palimpsest.go) palimpsest.go("e" + data.seq[bar]);
    else location.href = location.pathname + "?at=step" + data.n[bar];
  }
  plot.addEventListener("click", clicked);
  let dragging = false;
  plot.addEventListener("pointerdown", () => { dragging = true; });
  addEventListener("pointerup", () => { dragging = false; });
  plot.addEventListener("pointermove", function (event) {
    if (!dragging || !chart) return;
    const box = frame(), place = event.clientX - plot.getBoundingClientRect().left - box.left;
    at = Math.max(0, Math.min(data.n.length - 1, Math.floor(place / (box.width / data.n.length))));
    paint();
  });

  document.addEventListener("palimpsest:place", function (event) {
    if (!data || !data.n.length) { pending = event.detail; return; }
    const now = event.detail.step ? barOf(event.detail.step) : barAt(event.detail.seq);
    if (now !== at) { at = now; paint(); }
  });
  let pending = null;
  document.addEventListener("palimpsest:span", function (event) {
    if (!data || !chart) return;
    span = [barAt(event.detail.first), barAt(event.detail.last)];
    chart.redraw();
  });
  document.addEventListener("palimpsest:scheme", () => data && draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => data && draw());
  let size = 0;
  new ResizeObserver(function () { if (data && plot.clientWidth !== size) { size = plot.clientWidth; draw(); } }).observe(plot);

  function load() {
    fetch(section.dataset.chart, { headers: { Accept: "application/json" }, credentials: "same-origin" })
      .then((answer) => { if (!answer.ok) throw new Error(String(answer.status)); return answer.json(); })
      .then(function (json) {
        data = json;
        if (pending) { at = pending.step ? barOf(pending.step) : barAt(pending.seq); }
        size = plot.clientWidth;
        draw();
        table();
      })
      .catch(function () { plot.textContent = "The chart could not be loaded; the table of steps has the same figures."; });
  }
  // After the first paint: the chart is not what a reader waits for.
  requestAnimationFrame(() => setTimeout(load, 0));
})();
