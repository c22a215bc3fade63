// The token chart. The server draws a stretch of steps for the pixels there are; this lays cursor, figures and brush over the drawing, asks
// for the next stretch, and keeps chart and transcript at the same step. Positions are attributes, colours come from the stylesheet.
(function () {
  "use strict";

  const section = document.getElementById("chart");
  if (!section) return;
  const plot = section.querySelector("[data-plot]");
  const strip = section.querySelector("[data-strip]");
  const says = section.querySelector("[data-chart-says]");
  const range = section.querySelector("[data-range]");
  const form = section.querySelector("[data-as-if]");
  const SVG = "http://www.w3.org/2000/svg";
  const LEAST = 8; // steps of the closest view
  const STRIP = 30;
  const DRAGS = 4; // pixels from which a press is a drag

  const asked = new URL(section.dataset.chart, location.href);
  let whole = null; // columns of all steps, for the strip and for finding a step anywhere
  let shown = null; // columns of the drawing that stands there
  let view = null; // { from, to } as it should be; ahead of `shown` while the next drawing is on its way
  let at = null; // step of the cursor
  let over = null; // overlay group of the drawing
  let hovered = null, brush = null, span = null, waiting = null, asking = null;

  const figure = (n) => (n === null || n === undefined ? "–" : n.toLocaleString("en"));
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  const zoomed = () => view && (view.from > 1 || view.to < shown.steps);

  function make(name, attributes, parent, words) {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (words !== undefined) element.textContent = words;
    parent.appendChild(element);
    return element;
  }

  // Asking ------------------------------------------------------------------------------------------------------------

  function address(stretch, size) {
    const url = new URL(asked);
    if (stretch) { url.searchParams.set("from", stretch.from); url.searchParams.set("to", stretch.to); }
    url.searchParams.set("w", Math.max(280, Math.round(size.width)));
    url.searchParams.set("h", size.height < 120 ? 240 : Math.round(size.height)); // in print there is no height yet
    return url;
  }

  function load(stretch) {
    if (asking) asking.abort();
    const mine = (asking = new AbortController());
    plot.setAttribute("aria-busy", "true");
    return fetch(address(stretch, { width: plot.clientWidth, height: plot.clientHeight }), { headers: { Accept: "application/json" }, credentials: "same-origin", signal: mine.signal })
      .then((answer) => { if (!answer.ok) throw new Error(String(answer.status)); return answer.json(); })
      .then(function (json) {
        shown = json;
        view = { from: json.from, to: json.to };
        if (json.from === 1 && json.to >= json.steps) whole = json;
        place();
        plot.removeAttribute("aria-busy");
      })
      .catch(function (fault) {
        if (fault.name === "AbortError") return;
        plot.removeAttribute("aria-busy");
        plot.textContent = palimpsest.say("noChart");
      });
  }

  // A gesture asks once it pauses: until then the drawing that stands there is stretched.
  function soon(pause) {
    clearTimeout(waiting);
    waiting = setTimeout(() => load(view).then(() => remember()), pause);
  }

  // Drawing -----------------------------------------------------------------------------------------------------------

  function place() {
    const drawn = new DOMParser().parseFromString(shown.svg, "image/svg+xml").documentElement;
    plot.textContent = "";
    const svg = document.importNode(drawn, true);
    plot.appendChild(svg);
    over = make("g", { class: "over" }, svg);
    paint();
    paintStrip();
    tell();
    limits();
  }

  function tell() {
    const all = !zoomed();
    range.textContent = !shown.n.length ? "" : all ? palimpsest.say("allSteps", { n: figure(shown.steps) }) : palimpsest.say("someSteps", { from: figure(shown.from), to: figure(shown.to), n: figure(shown.steps) });
    section.querySelectorAll("[data-zoom]").forEach(function (button) {
      const by = button.dataset.zoom;
      button.disabled = by === "in" ? shown.to - shown.from + 1 <= LEAST : all;
    });
    plot.setAttribute("role", "slider");
    plot.setAttribute("aria-valuemin", "1");
    plot.setAttribute("aria-valuemax", String(shown.steps));
    plot.setAttribute("aria-describedby", "chart-words");
    section.querySelector("#chart-words").textContent = shown.words;
    plot.tabIndex = shown.n.length ? 0 : -1;
    voice();
    const line = form && form.querySelector("[data-as-if-says]");
    if (line) line.textContent = shown.as_if;
    const assumed = form && form.querySelector("[data-assumes]");
    if (!assumed) return;
    assumed.hidden = !shown.assumes.length;
    assumed.querySelector("ul").replaceChildren(...shown.assumes.map(function (one) {
      const item = document.createElement("li");
      item.textContent = one;
      return item;
    }));
  }

  function voice() {
    const bar = barOf(shown, at);
    plot.setAttribute("aria-valuenow", String(at || shown.from));
    plot.setAttribute("aria-valuetext", at === null || bar < 0 ? palimpsest.say("noStep") : words(bar).join(", "));
  }

  function words(bar) {
    const d = shown, out = [palimpsest.say(d.turn[bar] ? "stepTurn" : "step", { n: figure(d.n[bar]), turn: figure(d.turn[bar]) })];
    const many = d.stop[bar] - d.start[bar];
    if (many > 1) out[0] += " (" + palimpsest.say("largest", { n: figure(many) }) + ")";
    const about = d.estimated.includes(bar) ? "≈ " : "";
    if (d.whole[bar] !== null) out.push(palimpsest.say("context", { n: figure(d.whole[bar] + (d.output[bar] || 0)) }));
    else out.push(palimpsest.say("cacheRead", { n: figure(d.cache_read[bar]) }), palimpsest.say("cacheWrite", { n: figure(d.cache_write[bar]) }), palimpsest.say("fresh", { n: figure(d.fresh[bar]) }));
    out.push(palimpsest.say("output", { n: about + figure(d.output[bar]) }) + (d.reasoning[bar] ? ", " + palimpsest.say("ofItReasoning", { n: figure(d.reasoning[bar]) }) : ""));
    const limit = d.thresholds.find((one) => one.name === "compaction");
    if (limit) {
      const left = limit.tokens - d.context[bar];
      out.push(palimpsest.say(left >= 0 ? "until" : "over", { n: figure(Math.abs(left)) }));
    }
    return out;
  }

  const each = () => shown.frame.plot_width / (shown.to - shown.from + 1);
  const x = (step) => shown.frame.left + (step - shown.from) * each();
  const middle = (bar) => (x(shown.start[bar]) + x(shown.stop[bar])) / 2;

  function paint() {
    if (!over) return;
    over.textContent = "";
    const f = shown.frame, foot = f.top + f.plot_height;
    if (!shown.n.length) return;
    // The turn that the cursor is in stands out at the foot.
    const bar = at === null ? -1 : barOf(shown, at);
    const inside = bar >= 0 && at >= shown.from && at <= shown.to;
    const turn = inside ? String(shown.turn[bar]) : "";
    plot.querySelectorAll("[data-turn]").forEach((one) => one.classList.toggle("here", one.dataset.turn === turn));
    if (span) {
      const low = clamp(x(span[0]), f.left, f.left + f.plot_width), high = clamp(x(span[1] + 1), f.left, f.left + f.plot_width);
      if (high > low) make("rect", { class: "goal-span", x: low, y: foot + 1, width: Math.max(2, high - low), height: 3 }, over);
    }
    if (hovered !== null && hovered !== bar) make("line", { class: "hover", x1: middle(hovered), x2: middle(hovered), y1: f.top, y2: foot }, over);
    if (inside) {
      const here = clamp(x(at) + each() / 2, f.left, f.left + f.plot_width);
      make("line", { class: "cursor", x1: here, x2: here, y1: f.top, y2: foot + 5 }, over);
      make("path", { class: "cursor-head", d: `M${here - 5} ${f.top - 3}h10l-5 7z` }, over);
      const said = palimpsest.say("step", { n: figure(at) }), half = said.length * 3.3 + 5;
      const centre = clamp(here, f.left + half, f.left + f.plot_width - half);
      make("rect", { class: "cursor-head", x: centre - half, y: foot + 24, width: half * 2, height: 16, rx: 2 }, over);
      make("text", { class: "cursor-words", x: centre, y: foot + 36, "text-anchor": "middle" }, over, said);
    }
    if (brush) {
      const low = Math.min(brush.from, brush.now), wide = Math.abs(brush.now - brush.from);
      make("rect", { class: "brush", x: low, y: f.top, width: wide, height: f.plot_height }, over);
    } else if (hovered !== null) figures(hovered);
  }

  // The figures of the step under the pointer, beside it.
  function figures(bar) {
    const f = shown.frame, lines = words(bar);
    const wide = Math.max(...lines.map((line, i) => line.length * (i ? 5.9 : 6.6))) + 16, high = lines.length * 15 + 9;
    let left = middle(bar) + 10;
    if (left + wide > f.left + f.plot_width + 4) left = middle(bar) - 10 - wide;
    const group = make("g", { class: "tip" }, over);
    make("rect", { x: Math.max(0, left), y: f.top + 6, width: wide, height: high, rx: 3 }, group);
    lines.forEach((line, i) => make("text", { x: Math.max(0, left) + 8, y: f.top + 21 + i * 15, class: i ? "" : "figure" }, group, line));
  }

  // While a gesture lasts: the bars stretched to where they will be.
  function stretch() {
    const bars = plot.querySelector(".bars"), f = shown.frame;
    const by = (shown.to - shown.from + 1) / (view.to - view.from + 1);
    const shift = f.left - (f.left + (view.from - shown.from) * each()) * by;
    if (bars) bars.setAttribute("transform", `translate(${shift} 0) scale(${by} 1)`);
    plot.querySelector("svg").classList.add("moving");
    over.textContent = "";
    paintStrip();
  }

  function show(from, to, pause) {
    const steps = shown.steps, length = clamp(Math.round(to - from + 1), Math.min(LEAST, steps), steps);
    const low = clamp(Math.round(from), 1, steps - length + 1);
    const next = { from: low, to: low + length - 1 };
    if (view && next.from === view.from && next.to === view.to) { paint(); return; }
    view = next;
    hovered = null;
    stretch();
    soon(pause || 0);
    if (!pause) says.textContent = palimpsest.say("someSteps", { from: figure(view.from), to: figure(view.to), n: figure(steps) });
  }

  function zoom(by, around) {
    const length = (view.to - view.from + 1) * by;
    const share = (around - view.from + 0.5) / (view.to - view.from + 1);
    const from = around + 0.5 - share * length;
    return [from, from + length - 1];
  }
  const reset = () => show(1, shown.steps);
  const centre = () => (at !== null && at >= view.from && at <= view.to ? at : Math.round((view.from + view.to) / 2));

  // The strip: all steps, and the window on them --------------------------------------------------------------------------

  function paintStrip() {
    const needed = whole && whole.n.length > 1 && (zoomed() || whole.steps > 600);
    strip.toggleAttribute("hidden", !needed); // an SVG element has no property for it
    if (!needed) return;
    const f = shown.frame;
    strip.setAttribute("viewBox", `0 0 ${f.width} ${STRIP}`);
    strip.setAttribute("width", f.width);
    strip.setAttribute("height", STRIP);
    strip.textContent = "";
    const top = Math.max(...whole.context) || 1, by = f.plot_width / whole.steps;
    let path = "";
    whole.start.forEach(function (start, i) {
      const level = (STRIP - 2 - (whole.context[i] * (STRIP - 6)) / top).toFixed(1);
      path += (path ? "H" + (f.left + (start - 1) * by).toFixed(1) : "M" + f.left + " " + (STRIP - 2)) + "V" + level;
    });
    path += `H${f.left + f.plot_width}V${STRIP - 2}Z`;
    make("path", { class: "strip-bars", d: path }, strip);
    const low = f.left + (view.from - 1) * by, high = Math.max(low + 3, f.left + view.to * by);
    make("rect", { class: "strip-off", x: f.left, y: 0, width: Math.max(0, low - f.left), height: STRIP }, strip);
    make("rect", { class: "strip-off", x: high, y: 0, width: Math.max(0, f.left + f.plot_width - high), height: STRIP }, strip);
    make("rect", { class: "strip-window", x: low, y: 0.5, width: high - low, height: STRIP - 1 }, strip);
    make("path", { class: "strip-handle", d: `M${low} 8v${STRIP - 16}M${high} 8v${STRIP - 16}` }, strip);
    if (at !== null) make("line", { class: "cursor", x1: f.left + (at - 0.5) * by, x2: f.left + (at - 0.5) * by, y1: 0, y2: STRIP }, strip);
  }

  let held = null;
  strip.addEventListener("pointerdown", function (event) {
    const f = shown.frame, by = f.plot_width / shown.steps, place = event.clientX - strip.getBoundingClientRect().left;
    const low = f.left + (view.from - 1) * by, high = f.left + view.to * by;
    const edge = event.pointerType === "touch" ? 14 : 6;
    let part = "move";
    if (Math.abs(place - low) <= edge) part = "low";
    else if (Math.abs(place - high) <= edge) part = "high";
    else if (place < low || place > high) {
      const length = view.to - view.from, middle = (place - f.left) / by;
      show(middle - length / 2, middle + length / 2, 90);
    }
    held = { part, place, from: view.from, to: view.to, by };
    strip.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  strip.addEventListener("pointermove", function (event) {
    if (!held) return;
    const moved = (event.clientX - strip.getBoundingClientRect().left - held.place) / held.by;
    if (held.part === "low") show(Math.min(held.from + moved, held.to - LEAST + 1), held.to, 90);
    else if (held.part === "high") show(held.from, Math.max(held.to + moved, held.from + LEAST - 1), 90);
    else if (Math.abs(moved * held.by) >= 1) show(held.from + moved, held.to + moved, 90);
  });
  ["pointerup", "pointercancel"].forEach((name) => strip.addEventListener(name, () => { held = null; }));
  strip.addEventListener("dblclick", () => reset());

  // Finding ---------------------------------------------------------------------------------------------------------------

  function last(values, value) {
    let low = 0, high = values.length - 1, found = -1;
    while (low <= high) { const half = (low + high) >> 1; if (values[half] <= value) { found = half; low = half + 1; } else high = half - 1; }
    return found;
  }
  const barOf = (data, step) => Math.max(step === null ? -1 : 0, last(data.start, step));
  function stepAt(seq) {
    const near = last(shown.seq, seq);
    if (near >= 0 && (near < shown.n.length - 1 || !zoomed())) return shown.n[near];
    const far = whole ? last(whole.seq, seq) : -1;
    return far >= 0 ? whole.n[far] : shown.n.length ? shown.n[0] : null;
  }
  function barUnder(event) {
    const f = shown.frame, place = event.clientX - plot.getBoundingClientRect().left;
    if (place < f.left || place > f.left + f.plot_width || !shown.n.length) return null;
    const step = shown.from + (place - f.left) / each();
    return Math.max(0, last(shown.start, step));
  }

  // Pointer -----------------------------------------------------------------------------------------------------------------

  function go(bar) {
    at = shown.n[bar];
    paint();
    voice();
    if (palimpsest.go) palimpsest.go("e" + shown.seq[bar], { step: at });
    else location.href = section.dataset.session + "?at=step" + at;
  }

  let pressed = null;
  plot.addEventListener("pointerdown", function (event) {
    if (!shown || event.button || !shown.n.length) return;
    const place = event.clientX - plot.getBoundingClientRect().left;
    pressed = { place, flag: event.target.closest && event.target.closest("[data-seq]") };
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", function (event) {
    if (!shown || !over) return;
    const f = shown.frame, place = event.clientX - plot.getBoundingClientRect().left;
    if (pressed && Math.abs(place - pressed.place) > DRAGS) {
      const held = (value) => clamp(value, f.left, f.left + f.plot_width);
      brush = { from: held(pressed.place), now: held(place) };
      hovered = null;
      paint();
      return;
    }
    const now = event.pointerType === "touch" ? null : barUnder(event);
    if (now !== hovered) { hovered = now; paint(); }
  });
  plot.addEventListener("pointerup", function (event) {
    if (!pressed) return;
    const was = pressed, marked = brush;
    pressed = brush = null;
    if (marked) {
      const f = shown.frame, low = Math.min(marked.from, marked.now), high = Math.max(marked.from, marked.now);
      if (high - low > DRAGS) show(shown.from + (low - f.left) / each(), shown.from + (high - f.left) / each() - 1);
      else paint();
      return;
    }
    if (was.flag && palimpsest.go) { palimpsest.go("e" + was.flag.dataset.seq); return; }
    const bar = barUnder(event);
    if (bar !== null) go(bar);
  });
  plot.addEventListener("pointercancel", () => { pressed = brush = null; paint(); });
  plot.addEventListener("pointerleave", () => { hovered = null; if (!brush) paint(); });
  plot.addEventListener("dblclick", (event) => { event.preventDefault(); if (zoomed()) reset(); });
  plot.addEventListener("wheel", function (event) {
    if (!shown || !(event.ctrlKey || event.metaKey) || !shown.n.length) return;
    event.preventDefault();
    const f = shown.frame, place = clamp(event.clientX - plot.getBoundingClientRect().left - f.left, 0, f.plot_width);
    const around = view.from + (place / f.plot_width) * (view.to - view.from + 1) - 0.5;
    const [from, to] = zoom(Math.exp(clamp(event.deltaY, -200, 200) * 0.004), around);
    show(from, to, 120);
  }, { passive: false });

  // Keys: on the chart itself, so that none of the page's own is in the way -----------------------------------------------------

  function cursor(bar) {
    at = shown.n[clamp(bar, 0, shown.n.length - 1)];
    paint();
    paintStrip();
    voice();
  }
  plot.addEventListener("keydown", function (event) {
    if (!shown || !shown.n.length || event.altKey || event.metaKey || event.ctrlKey) return;
    const now = barOf(shown, at), length = view.to - view.from + 1;
    const here = at === null || at < shown.from || at > shown.to;
    const move = function (by) {
      if (here) { cursor(by > 0 ? 0 : shown.n.length - 1); return; }
      if (now + by >= 0 && now + by < shown.n.length) { cursor(now + by); return; }
      if (by < 0 ? view.from > 1 : view.to < shown.steps) { at = clamp(at + by, 1, shown.steps); show(at - length / 2, at + length / 2 - 1, 1); voice(); }
    };
    const turn = function (by) {
      let bar = here ? 0 : now;
      const mine = shown.turn[bar];
      while (bar + by >= 0 && bar + by < shown.n.length && shown.turn[bar] === mine) bar += by;
      if (by < 0) while (bar > 0 && shown.turn[bar - 1] === shown.turn[bar]) bar -= 1;
      cursor(bar);
    };
    const acts = {
      ArrowLeft: () => (event.shiftKey ? show(view.from - length / 2, view.to - length / 2) : move(-1)),
      ArrowRight: () => (event.shiftKey ? show(view.from + length / 2, view.to + length / 2) : move(1)),
      ArrowUp: () => move(1),
      ArrowDown: () => move(-1),
      PageUp: () => turn(-1),
      PageDown: () => turn(1),
      Home: () => edge(1),
      End: () => edge(shown.steps),
      Enter: () => { if (!here) go(now); },
      "+": () => show(...zoom(0.5, centre())),
      "=": () => show(...zoom(0.5, centre())),
      "-": () => show(...zoom(2, centre())),
      0: () => reset(),
      Escape: () => { if (brush) { pressed = brush = null; paint(); } else if (zoomed()) reset(); else plot.blur(); },
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    acts[event.key]();
  });
  function edge(step) {
    const length = view.to - view.from;
    at = step;
    if (step < view.from || step > view.to) { step === 1 ? show(1, 1 + length, 1) : show(step - length, step, 1); voice(); }
    else cursor(step === 1 ? 0 : shown.n.length - 1);
  }
  section.addEventListener("click", function (event) {
    const button = event.target.closest("[data-zoom]");
    if (button && shown) {
      if (button.dataset.zoom === "all") reset();
      else show(...zoom(button.dataset.zoom === "in" ? 0.5 : 2, centre()));
    }
    if (event.target.closest("[data-export='png']")) png();
    const link = event.target.closest("[data-export='svg']");
    if (link) link.href = exported("&download");
    const off = event.target.closest("[data-as-if-off]");
    if (off) { event.preventDefault(); form.rule.value = form.model.value = ""; asIf(); }
  });

  // Taking away ---------------------------------------------------------------------------------------------------------------

  function dark() {
    const chosen = document.documentElement.dataset.scheme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  function exported(more) {
    const url = address(view, { width: Math.max(960, plot.clientWidth), height: plot.clientHeight });
    url.pathname = section.dataset.drawing;
    if (dark()) url.searchParams.set("scheme", "dark");
    return url + more;
  }
  function png() {
    const picture = new Image();
    picture.addEventListener("load", function () {
      const canvas = document.createElement("canvas");
      canvas.width = picture.naturalWidth * 2;
      canvas.height = picture.naturalHeight * 2;
      canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(function (blob) {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(blob);
        link.download = "steps.png";
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
      });
    });
    picture.addEventListener("error", () => { says.textContent = palimpsest.say("noPicture"); });
    picture.src = exported("");
  }

  // As if -----------------------------------------------------------------------------------------------------------------------

  function remember() {
    if (!history.replaceState || !shown) return;
    const query = new URLSearchParams(location.search);
    const put = (name, value) => (value ? query.set(name, value) : query.delete(name));
    if (form) ["rule", "model"].forEach((name) => put(name, form[name].value.trim()));
    put("zoom", zoomed() ? view.from + "-" + view.to : "");
    const text = String(query);
    history.replaceState(history.state, "", location.pathname + (text ? "?" + text : "") + location.hash);
  }
  function asIf() {
    ["rule", "model"].forEach((name) => {
      const value = form[name].value.trim();
      if (value) asked.searchParams.set(name, value);
      else asked.searchParams.delete(name);
    });
    const off = form.querySelector("[data-as-if-off]");
    if (off) off.hidden = !(form.rule.value || form.model.value.trim());
    form.querySelector(".pick").classList.toggle("set", Boolean(form.rule.value));
    load(view).then(remember);
  }
  if (form) {
    form.addEventListener("change", asIf);
    form.addEventListener("submit", (event) => { event.preventDefault(); asIf(); });
  }
  function limits() {
    const list = section.querySelector("[data-limits]");
    list.textContent = "";
    shown.thresholds.forEach(function (one) {
      const item = document.createElement("li");
      item.className = one.name;
      const strong = document.createElement("b");
      strong.textContent = figure(one.tokens);
      item.append(strong, " " + one.label + " · " + one.rule);
      list.appendChild(item);
    });
  }

  // The transcript moves the cursor, and a goal its span ----------------------------------------------------------------------------

  let pending = null;
  document.addEventListener("palimpsest:place", function (event) {
    if (!shown || !shown.n.length) { pending = event.detail; return; }
    const now = event.detail.step || stepAt(event.detail.seq);
    if (now === at || now === null) return;
    at = now;
    voice();
    if (at < view.from || at > view.to) { const half = (view.to - view.from) / 2; show(at - half, at + half, 200); }
    else { paint(); paintStrip(); }
  });
  document.addEventListener("palimpsest:span", function (event) {
    if (!shown || !shown.n.length) return;
    span = [stepAt(event.detail.first), stepAt(event.detail.last)];
    paint();
  });

  let size = 0;
  new ResizeObserver(function () {
    if (!shown || plot.clientWidth === size) return;
    size = plot.clientWidth;
    soon(60);
  }).observe(plot);

  // The session grew: the whole is drawn anew; a stretch that was zoomed to stays, and only what stands for all steps is asked for again.
  document.addEventListener("palimpsest:grown", function () {
    if (!shown || brush) return;
    load(zoomed() ? view : null);
  });

  function begin() {
    size = plot.clientWidth;
    const zoomedTo = /^(\d+)-(\d+)$/.exec(new URLSearchParams(location.search).get("zoom") || "");
    load(null).then(function () {
      if (!shown) return;
      if (pending && shown.n.length) { at = pending.step || stepAt(pending.seq); paint(); voice(); }
      if (zoomedTo) show(Number(zoomedTo[1]), Number(zoomedTo[2]), 1);
    });
  }
  // After the first paint: the chart is not what a reader waits for.
  requestAnimationFrame(() => setTimeout(begin, 0));
})();
