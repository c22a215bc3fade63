// Ways through a session: finding words, the map, narrowing, marks. Every address works without this file too.
(function () {
  "use strict";

  const root = document.getElementById("session");
  if (!root) return;
  const here = root.dataset.session;
  const bar = () => document.getElementById("find-bar");

  // Finding: hits stand beside the transcript; the brackets go from one to the next, into ghosts as well -----------------------------

  let hit = -1, asked = null;
  const hits = () => Array.from(document.querySelectorAll("#outline [data-hit]"));
  const looking = () => bar() && !bar().hidden && hits().length > 0;

  function openFind() {
    if (!bar()) return;
    bar().hidden = false;
    asked = bar(); // what was asked for when it closed does not take its hits away
    const field = document.getElementById("find-words");
    field.focus();
    field.select();
  }

  function closeFind() {
    if (!bar() || bar().hidden) return;
    bar().hidden = true;
    hit = -1;
    paint("");
    const goals = document.querySelector("[data-tab]");
    if (goals) goals.click();
  }

  function toHit(at) {
    const all = hits();
    if (!all.length) return;
    hit = Math.max(0, Math.min(all.length - 1, at));
    all.forEach((one, n) => n === hit ? one.setAttribute("aria-current", "true") : one.removeAttribute("aria-current"));
    all[hit].scrollIntoView({ block: "nearest" });
    const more = document.querySelector("#outline .found-list .edge");
    document.getElementById("find-place").textContent = (hit + 1) + " / " + all.length + (more ? "+" : "");
    palimpsest.go("e" + all[hit].dataset.hit).then(function () {
      // Words that a closed row does not show: it is opened, as a ghost is on the way to one.
      const entry = palimpsest.chosen(), sum = document.querySelector("#outline [data-found]");
      const shown = entry && entry.textContent.toLowerCase().includes(sum.dataset.found.toLowerCase());
      const toggle = entry && !shown && entry.querySelector(".toggle[aria-expanded='false']");
      if (toggle) palimpsest.toggle(entry); else paint();
    });
    if (more && hit > all.length - 6) more.click();
  }

  // The words that were found, marked without touching the page's elements.
  function paint(words) {
    if (!window.CSS || !CSS.highlights || !window.Highlight) return;
    CSS.highlights.delete("found");
    const sum = document.querySelector("#outline [data-found]");
    const wanted = typeof words === "string" ? words : sum ? sum.dataset.found : "";
    const entry = palimpsest.chosen();
    if (!wanted || !entry || bar().hidden) return;
    const exact = sum && sum.hasAttribute("data-exact");
    const ranges = [];
    const walk = document.createTreeWalker(entry, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node && ranges.length < 200; node = walk.nextNode()) {
      const text = exact ? node.data : node.data.toLowerCase(), sought = exact ? wanted : wanted.toLowerCase();
      for (let at = text.indexOf(sought); at >= 0; at = text.indexOf(sought, at + sought.length)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + sought.length);
        ranges.push(range);
      }
    }
    if (ranges.length) CSS.highlights.set("found", new Highlight(...ranges));
  }

  // Of several ways asked for at once the last one stands, in whatever order they come.
  document.addEventListener("htmx:beforeRequest", function (event) {
    if (event.detail.target && event.detail.target.id === "outline") asked = event.detail.elt;
  });
  document.addEventListener("htmx:beforeSwap", function (event) {
    if (event.detail.target && event.detail.target.id === "outline" && asked && event.detail.requestConfig.elt !== asked) event.detail.shouldSwap = false;
  });

  document.addEventListener("htmx:afterSettle", function (event) {
    const into = event.detail.target || event.detail.elt;
    if (into && into.id === "outline") {
      const found = document.querySelector("#outline [data-found]");
      hit = -1;
      if (found) {
        document.querySelectorAll("[data-tab][aria-current]").forEach((one) => one.removeAttribute("aria-current"));
        document.getElementById("find-place").textContent = hits().length ? "" : "0";
        if (hits().length) toHit(0);
      }
    }
    if (into && into.classList && into.classList.contains("entry")) paint();
    drawView();
  });

  // From one error, prompt or compaction to the next, wherever it lies ------------------------------------------------------------------

  function nearest(what, by) {
    const now = palimpsest.chosen();
    const from = now && now.dataset.seq !== undefined ? now.dataset.seq : by > 0 ? -1 : root.dataset.total;
    const query = "from=" + from + (by < 0 ? "&back=1" : "");
    fetch(palimpsest.address("/nearest/" + what, query), { credentials: "same-origin" })
      .then((answer) => answer.status === 200 ? answer.json() : null)
      .then((found) => { if (found) palimpsest.go("e" + found.seq); });
  }

  // The map: a click goes there; a frame shows what is seen ------------------------------------------------------------------------------

  function drawView() {
    const rail = document.getElementById("map");
    const svg = rail && rail.querySelector("svg");
    if (!svg) return;
    let frame = rail.querySelector(".map-view");
    if (!frame) {
      frame = document.createElement("i");
      frame.className = "map-view";
      rail.append(frame);
    }
    const entries = document.querySelectorAll("#entries .entry");
    let first = null, last = null;
    for (const one of entries) {
      const seen = one.getBoundingClientRect();
      if (seen.bottom < 90) continue;
      if (seen.top > innerHeight) break;
      const seq = Number(one.dataset.seq);
      first = first === null ? seq : Math.min(first, seq);
      last = last === null ? seq : Math.max(last, seq);
    }
    frame.hidden = first === null;
    if (first === null) return;
    const total = Number(svg.dataset.total), height = rail.clientHeight;
    frame.style.top = (first / total) * height + "px";
    frame.style.height = Math.max(4, ((last + 1 - first) / total) * height) + "px";
  }

  let ticking = false;
  addEventListener("scroll", function () {
    if (ticking) return;
    ticking = true;
    requestAnimationFrame(() => { ticking = false; drawView(); });
  }, { passive: true });

  function placeOf(event, rail) {
    const seen = rail.getBoundingClientRect(), svg = rail.querySelector("svg");
    const share = Math.min(Math.max((event.clientY - seen.top) / seen.height, 0), 0.999999);
    return svg ? Math.floor(share * Number(svg.dataset.total)) : null;
  }

  document.addEventListener("mousemove", function (event) {
    const rail = event.target.closest && event.target.closest("#map");
    if (!rail) return;
    const seq = placeOf(event, rail);
    if (seq !== null) rail.title = String(seq);
  });

  // Marks ----------------------------------------------------------------------------------------------------------------------------------

  function bookmark(seq) {
    htmx.ajax("POST", here + "/bookmark", { source: "#inspector", target: "#inspector", swap: "innerHTML", values: { seq } });
  }

  function write() {
    const box = document.querySelector("#inspector .comment-write");
    if (!box) return;
    palimpsest.part("inspector-side");
    box.open = true;
    box.querySelector("textarea").focus();
  }

  document.addEventListener("htmx:afterRequest", function (event) {
    const path = (event.detail.requestConfig && event.detail.requestConfig.path) || "";
    if (event.detail.successful && /\/(bookmark|comment|pin)(\/|$)/.test(path)) htmx.trigger(document.body, "marksChanged");
  });

  // Narrowing: the form stays open, with the focus where it is, while what it narrows is changed below it ------------------------------

  document.addEventListener("htmx:afterSettle", function () {
    const count = document.querySelector("[data-narrowed]"), chips = document.querySelectorAll(".chips .chip").length;
    if (count) count.textContent = chips || "";
  });

  // Clicks and keys --------------------------------------------------------------------------------------------------------------------------

  document.addEventListener("click", function (event) {
    const target = event.target.closest("[data-find-open], [data-find-close], [data-hit-step], [data-hit], [data-bookmark], #map");
    if (!target || event.metaKey || event.ctrlKey) return;
    if (target.matches("[data-find-open]")) { event.preventDefault(); openFind(); }
    else if (target.matches("[data-find-close]")) closeFind();
    else if (target.matches("[data-hit-step]")) toHit(hit + Number(target.dataset.hitStep));
    else if (target.matches("[data-hit]")) { event.preventDefault(); event.stopPropagation(); toHit(hits().indexOf(target)); }
    else if (target.matches("[data-bookmark]")) bookmark(target.dataset.bookmark);
    else { const seq = placeOf(event, target); if (seq !== null) palimpsest.go("e" + seq); }
  }, true);

  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape" && !document.querySelector("dialog[open]") && bar() && !bar().hidden) { event.preventDefault(); closeFind(); }
    if (event.target.id !== "find-words") return;
    if (event.key === "Enter" && event.shiftKey) { event.preventDefault(); toHit(hit - 1); }
    else if (event.key === "Enter" && looking() && document.querySelector("#outline [data-found]").dataset.found === event.target.value) { event.preventDefault(); toHit(hit + 1); }
  });

  palimpsest.keys({
    f() { openFind(); },
    "]"() { if (looking()) toHit(hit + 1); else nearest("error", 1); },
    "["() { if (looking()) toHit(hit - 1); else nearest("error", -1); },
    "}"() { nearest("compaction", 1); },
    "{"() { nearest("compaction", -1); },
    N() { const box = document.querySelector("details.narrow"); if (box) { box.open = true; box.querySelector("summary").focus(); } },
    w() {
      const all = Array.from(document.querySelectorAll("[data-tab]")), at = all.findIndex((one) => one.hasAttribute("aria-current"));
      const next = all[(at + 1) % all.length];
      if (next) { palimpsest.part("goals"); next.click(); next.focus(); }
    },
    s() { const now = palimpsest.chosen(); if (now && now.dataset.seq) bookmark(now.dataset.seq); },
    C() { write(); },
  });
  drawView();
})();
