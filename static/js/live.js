// A session that grows while it is read. What is new comes in below what stands there; nothing moves under the reader, unless they follow.
// The pill says how many entries came that were not seen yet.
(function () {
  "use strict";

  const root = document.getElementById("session");
  const pill = document.getElementById("live");
  if (!root || !pill || !palimpsest.follow) return;
  const here = root.dataset.session;
  const REST = 2500; // ms between two refreshes of meter, chart and versions
  const query = root.dataset.v ? "v=" + root.dataset.v : "";
  let total = Number(root.dataset.total), seen = total, high = total - 1, following = false, refreshed = 0, waiting = null, head = root.dataset.head || "";

  const entries = () => document.getElementById("entries");

  function ask(path) {
    return fetch(here + path, { headers: { "HX-Request": "true" }, credentials: "same-origin" }).then(function (answer) {
      if (answer.redirected || !(answer.ok || answer.status === 204)) throw new Error(String(answer.status));
      document.getElementById("offline").hidden = true;
      return answer.status === 204 ? "" : answer.text();
    });
  }

  function parsed(text) {
    const holder = document.createElement("template");
    holder.innerHTML = text;
    return holder.content;
  }

  // Looking ---------------------------------------------------------------------------------------------------------------

  function look() {
    return ask("/since?after=" + (seen - 1) + "&head=" + (root.dataset.head || "")).then(function (text) {
      document.body.dispatchEvent(new CustomEvent("looked"));
      if (!text) { clear(); return null; }
      const came = parsed(text), word = came.querySelector("[data-total]");
      if (!word) return null;
      const grown = Number(word.dataset.total) > total, moved = (word.dataset.moved || head) !== head;
      head = word.dataset.moved || head;
      total = Number(word.dataset.total);
      root.dataset.total = String(total);
      const counts = came.querySelector("[data-counts]"), place = document.getElementById("chart-counts");
      if (counts && place) place.textContent = counts.textContent;
      if (pill.textContent.trim() !== word.textContent.trim()) pill.replaceChildren(word);
      else if (pill.firstElementChild) pill.firstElementChild.href = word.href;
      if (!grown && !moved) return null;
      refresh();
      return (grown ? extend() : Promise.resolve()).then(function () { if (following) return toEnd(); return null; }).then(noticed);
    });
  }

  function clear() { if (pill.firstElementChild) pill.replaceChildren(); }

  // What of the page sums up the session. Whatever stands above the reader may change its height; the reader stays where they are.
  function refresh() {
    if (waiting) return;
    waiting = setTimeout(function () {
      waiting = null;
      refreshed = Date.now();
      if (!query) part("/meter", "meter");
      part("/versions?few=1" + (query ? "&" + query : ""), "versions");
      part("/map" + (query ? "?" + query : ""), "map");
      document.dispatchEvent(new CustomEvent("palimpsest:grown"));
    }, Math.max(0, refreshed + REST - Date.now()));
  }

  function part(path, id) {
    const box = document.getElementById(id);
    if (!box || palimpsest.inUse(box)) return;
    ask(path).then(function (text) {
      if (!text || palimpsest.inUse(box)) return;
      const open = Array.from(box.querySelectorAll("details")).map((one) => one.open);
      const focused = box.contains(document.activeElement) ? Array.from(box.querySelectorAll("a, button, summary")).indexOf(document.activeElement) : -1;
      palimpsest.leaves.holding(function () {
        box.replaceChildren(parsed(text));
        box.querySelectorAll("details").forEach((one, n) => { one.open = Boolean(open[n]); });
      });
      if (window.htmx) htmx.process(box);
      if (focused >= 0) { const now = box.querySelectorAll("a, button, summary")[focused]; if (now) now.focus({ preventScroll: true }); }
    }).catch(() => null);
  }

  // Growing -----------------------------------------------------------------------------------------------------------------

  function noteHigh(leaf) { if (leaf.dataset.high) high = Math.max(high, Number(leaf.dataset.high)); }
  function narrowed() { return Boolean(entries().querySelector(".chips")); }

  // The last leaf, where the transcript's end stands on the page.
  function tail() {
    const box = entries();
    if (!box || narrowed() || box.querySelector("[data-edge='after']")) return null;
    const last = box.lastElementChild;
    return last && last.matches(".leaf") ? last : null;
  }

  function extend() {
    const box = entries();
    if (!box || query || narrowed() || box.querySelector("[data-edge='after']")) return Promise.resolve();
    const leaf = tail();
    if (!leaf) {
      // The end was there and gave its place to an empty one; what comes behind it has a link that is followed when it comes near.
      if (box.lastElementChild && box.lastElementChild.matches(".gone")) stub(box);
      return Promise.resolve();
    }
    noteHigh(leaf);
    const low = Number(leaf.dataset.low), was = Number(leaf.dataset.high);
    return fetched(low).then(function (came) {
      if (!leaf.isConnected || !came) return null;
      if (Number(came.dataset.high) > was) { merge(leaf, came); return null; }
      return fetched(was).then(function (next) {
        if (!next || !leaf.isConnected) return;
        next.querySelectorAll("[data-edge='before']").forEach((link) => link.closest("p").remove());
        palimpsest.leaves.holding(() => leaf.after(next));
        palimpsest.leaves.arrived(next);
      });
    });
  }

  function fetched(after) { return ask("/entries?after=" + after).then((text) => parsed(text).querySelector(".leaf")); }

  function stub(box) {
    const leaf = document.createElement("div");
    leaf.className = "leaf";
    leaf.dataset.low = leaf.dataset.high = String(high);
    const line = document.createElement("p"), link = document.createElement("a");
    line.className = "edge";
    link.className = "later";
    link.href = here + "/entries?after=" + high;
    link.dataset.edge = "after";
    link.textContent = root.dataset.laterWords;
    line.append(link);
    leaf.append(line);
    box.append(leaf);
    palimpsest.leaves.arrived(leaf);
  }

  // What stands in a leaf stays, opened or chosen as it is; what is new comes behind it, and a call gets the result it waited for.
  function merge(leaf, came) {
    palimpsest.leaves.holding(function () {
      const empty = leaf.querySelector(":scope > .none");
      if (empty) empty.remove();
      came.querySelectorAll(":scope > *").forEach(function (block) {
        const known = block.dataset.turn && Array.from(leaf.querySelectorAll(":scope > .turn")).reverse().find((one) => one.dataset.turn === block.dataset.turn);
        if (known) { rows(known, block); return; }
        const first = block.matches("[data-seq]") ? block : block.querySelector("[data-seq]");
        if (block.matches(".edge")) { if (block.querySelector("[data-edge='after']")) leaf.append(block); return; }
        if (first && Number(first.dataset.seq) <= Number(leaf.dataset.high)) return;
        if (first || block.matches(".turn")) leaf.append(block);
      });
      leaf.dataset.high = came.dataset.high;
      leaf.dataset.src = came.dataset.src;
    });
    noteHigh(leaf);
    palimpsest.leaves.arrived(leaf);
  }

  function rows(known, block) {
    const figures = known.querySelector(".turn-figures"), now = block.querySelector(".turn-figures");
    if (figures && now && figures.textContent !== now.textContent) figures.replaceWith(now);
    let last = known.querySelector(":scope > .turn-head");
    Array.from(block.children).forEach(function (row) {
      if (row.matches(".turn-head")) return;
      const seq = row.dataset.seq, old = seq === undefined ? null : Array.from(known.children).find((one) => one.dataset.seq === seq);
      if (old) {
        const touched = old.matches(".open, [aria-current]") || old.contains(document.activeElement);
        if (!touched && old.textContent !== row.textContent) { old.replaceWith(row); last = row; } else last = old;
        return;
      }
      if (row.matches(".quiet")) {
        const link = (one) => { const a = one.querySelector("a"); return a ? a.search : ""; };
        const mine = Array.from(known.querySelectorAll(":scope > .quiet")).find((one) => link(one).split("&")[0] === link(row).split("&")[0]);
        if (mine) { if (link(mine) !== link(row)) mine.replaceWith(row); last = mine.isConnected ? mine : row; return; }
        const opened = known.querySelector(":scope > .records");
        if (opened && Number(new URLSearchParams(link(row)).get("first")) <= Number(known.closest(".leaf").dataset.high)) return;
      }
      if (last) last.after(row); else known.append(row);
      last = row;
    });
  }

  // The pill, and who has seen what ----------------------------------------------------------------------------------------------

  // Whoever sees the end has seen what came.
  function noticed() {
    const leaf = tail();
    if (!leaf || document.hidden) return;
    const end = leaf.getBoundingClientRect().bottom;
    if (end <= innerHeight + 4 && end > 0 && Number(leaf.dataset.high) >= total - 1) { seen = total; if (!pill.querySelector("[data-moved]")) clear(); }
  }

  pill.addEventListener("click", function (event) {
    const link = event.target.closest("a[data-total]");
    if (!link || link.hasAttribute("data-moved") || event.metaKey || event.ctrlKey || event.shiftKey) return;
    seen = total;
    setTimeout(clear, 0); // once the click has gone its way
  });
  addEventListener("scroll", noticed, { passive: true });

  // Following -------------------------------------------------------------------------------------------------------------------------

  function toEnd() {
    if (!entries()) return Promise.resolve();
    const come = tail() && Number(tail().dataset.high) >= total - 1 ? Promise.resolve() : htmx.ajax("GET", palimpsest.address("/entries", "at=e" + (total - 1)), { source: "#entries", target: "#entries", swap: "innerHTML" }).then(() => palimpsest.leaves.start());
    return come.then(function rest() {
      return entries().querySelector("[data-edge='after']") ? palimpsest.leaves.more(1).then((came) => (came ? rest() : null)) : null;
    }).then(function () {
      const leaf = entries().lastElementChild;
      if (following && leaf) scrollBy(0, leaf.getBoundingClientRect().bottom - innerHeight + 64);
      noticed();
    });
  }

  function follow(on) {
    following = on;
    document.querySelectorAll("[data-follow]").forEach((button) => button.setAttribute("aria-pressed", String(on)));
    if (on) toEnd();
  }

  document.addEventListener("click", function (event) { if (event.target.closest("[data-follow]")) follow(!following); });
  // Whoever goes up wants to read, and is left alone.
  addEventListener("wheel", (event) => { if (following && event.deltaY < 0) follow(false); }, { passive: true });
  addEventListener("touchmove", () => { if (following) follow(false); }, { passive: true });
  addEventListener("keydown", function (event) {
    if (following && /^(PageUp|ArrowUp|Home|k|p|n|j|G|g|\[|\]|\{|\})$/.test(event.key)) follow(false);
  });
  palimpsest.keys({ F() { follow(!following); } });

  // The goal tree comes by itself where it changed; not into a form that is being filled in, and with the focus where it was.
  let goal = null;
  document.addEventListener("htmx:beforeSwap", function (event) {
    const path = (event.detail.requestConfig && event.detail.requestConfig.path) || "";
    if (!path.includes("/goals/since") || !event.detail.target) return;
    if (palimpsest.inUse(event.detail.target)) { event.detail.shouldSwap = false; return; }
    const held = document.activeElement && document.activeElement.closest && document.activeElement.closest("#outline .goal");
    goal = held ? held.dataset.goal : null;
  });
  document.addEventListener("htmx:afterSettle", function () {
    if (goal === null) return;
    const now = Array.from(document.querySelectorAll("#outline .goal")).find((one) => one.dataset.goal === goal);
    goal = null;
    if (now) now.focus({ preventScroll: true });
  });

  document.addEventListener("palimpsest:leaf", (event) => noteHigh(event.detail));
  palimpsest.follow(here + "/events", look, 5000);
})();
