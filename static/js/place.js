// A place in the session: choosing an entry, going to one, the parts of the page on a small screen; the address says where one is.
// Every link works without this file; here the same addresses are swapped into the page.
(function () {
  "use strict";

  const root = document.getElementById("session");
  if (!root) return;
  const here = root.dataset.session;
  const main = document.getElementById("main");

  const version = () => (root.dataset.v ? "v=" + root.dataset.v : "");
  const address = (path, query) => here + path + (query || version() ? "?" + [version(), query].filter(Boolean).join("&") : "");
  const chosen = () => main.querySelector("[aria-current='true'].entry, .band.chosen, [aria-current='true'].item");

  // Choosing ------------------------------------------------------------------------------------------------------

  function choose(element, options) {
    if (!element) return;
    const { scroll = true, push = true } = options || {};
    main.querySelectorAll(".entry[aria-current], .item[aria-current], .band.chosen").forEach(function (old) {
      old.removeAttribute("aria-current");
      old.classList.remove("chosen");
    });
    if (element.classList.contains("band")) {
      element.classList.add("chosen");
      const link = element.querySelector(".ghost-link");
      if (link) link.focus({ preventScroll: true });
    } else {
      element.setAttribute("aria-current", "true");
      element.focus({ preventScroll: true });
    }
    if (scroll) element.scrollIntoView({ block: "nearest" });
    const seq = element.dataset.seq;
    if (seq === undefined) return;
    inspect(seq);
    place(seq, element.dataset.step);
    if (push && history.replaceState) {
      const query = new URLSearchParams(location.search);
      query.set("at", "e" + seq);
      history.replaceState(history.state, "", here + "?" + query);
    }
  }

  function place(seq, step) {
    const words = document.getElementById("place");
    if (words && !document.querySelector(".model")) words.textContent = palimpsest.say("place", { n: seq, total: Number(root.dataset.total).toLocaleString("en") });
    document.dispatchEvent(new CustomEvent("palimpsest:place", { detail: { seq: Number(seq), step: step ? Number(step) : null } }));
  }

  let waiting = null;
  function inspect(seq) {
    clearTimeout(waiting);
    waiting = setTimeout(function () {
      htmx.ajax("GET", address("/inspect/" + seq), { source: "#inspector", target: "#inspector", swap: "innerHTML" }).then(() => peek(seq));
    }, 120);
  }

  function peek(seq) {
    const box = document.getElementById("peek");
    const title = document.querySelector("#inspector h2");
    const answer = document.querySelector("#inspector .box b");
    if (!title) return;
    box.textContent = "";
    const words = document.createElement("span");
    words.textContent = title.textContent + (answer ? " · " + answer.textContent : "");
    const open = document.createElement("button");
    open.type = "button";
    open.className = "button";
    open.textContent = palimpsest.say("inspect");
    open.addEventListener("click", () => part("inspector-side"));
    box.append(words, open);
    box.hidden = false;
  }

  // Going to a place: on the page if it is there, else the window around it.
  let going = 0;
  function go(at, options) {
    const mine = ++going;
    const seq = /^e\d+$/.test(at) ? at.slice(1) : null;
    const found = seq !== null ? entryAt(seq) : document.getElementById(at);
    if (found && main.contains(found)) {
      found.scrollIntoView({ block: "center" });
      choose(found, options);
      return Promise.resolve();
    }
    return htmx.ajax("GET", address("/entries", "at=" + encodeURIComponent(at)), { source: "#entries", target: "#entries", swap: "innerHTML", headers: { "X-Going": String(mine) } }).then(function () {
      if (mine !== going) return;
      palimpsest.leaves.start();
      const now = main.querySelector(".entry[aria-current]") || (seq !== null && entryAt(seq)) || main.querySelector(".entry");
      if (now) { now.scrollIntoView({ block: "center" }); choose(now, { scroll: false }); }
    });
  }

  // Who has gone on meanwhile is not taken back by an answer that comes late.
  document.addEventListener("htmx:beforeSwap", function (event) {
    const asked = event.detail.requestConfig && event.detail.requestConfig.headers["X-Going"];
    if (asked && Number(asked) !== going) event.detail.shouldSwap = false;
  });

  function entryAt(seq) {
    return document.getElementById("e" + seq) || main.querySelector('[data-results~="' + seq + '"]');
  }

  // The parts of the page: one at a time on a small screen, the inspector as a drawer on a middling one -------------------------

  function part(id) {
    document.querySelectorAll(".three > *").forEach((one) => one.classList.toggle("shown", one.id === id));
    document.querySelectorAll("[data-part]").forEach((one) => one.dataset.part === id ? one.setAttribute("aria-current", "true") : one.removeAttribute("aria-current"));
    if (id === "inspector-side" && matchMedia("(min-width: 800px) and (max-width: 1199px)").matches) root.classList.add("inspector-open");
  }

  // Clicks on links to places, and on rows -----------------------------------------------------------------------------------------

  function toPlace(event, link) {
    if (link.pathname !== here || link.getAttribute("href").startsWith("#") || link.hasAttribute("data-copy") || link.hasAttribute("data-view")) return;
    const query = new URLSearchParams(link.search), at = query.get("at");
    if (!at || query.has("v") || query.has("view") || !document.getElementById("entries")) return;
    event.preventDefault();
    part("main");
    const goal = link.closest(".goal");
    if (goal) palimpsest.markGoal(goal);
    go(at);
  }

  document.addEventListener("click", function (event) {
    const tab = event.target.closest("[data-part]");
    if (tab) { event.preventDefault(); part(tab.dataset.part); return; }
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target.closest("a");
    if (link && root.contains(link)) {
      if (link.matches(".entry .no, .records .no")) { event.preventDefault(); choose(link.closest("[data-seq]"), { scroll: false }); }
      else if (link.matches(".inspect-link")) { event.preventDefault(); htmx.ajax("GET", link.getAttribute("href"), { source: "#inspector", target: "#inspector", swap: "innerHTML" }); }
      else toPlace(event, link);
      return;
    }
    const row = event.target.closest(".entry, .item");
    if (row && main.contains(row) && !event.target.closest("button, input, summary") && !String(getSelection())) choose(row, { scroll: false });
  });

  palimpsest.keys({
    i() {
      if (matchMedia("(max-width: 799px)").matches) { part("inspector-side"); return; }
      if (matchMedia("(max-width: 1199px)").matches) root.classList.toggle("inspector-open");
      document.getElementById("inspector").focus();
    },
    r() { const raw = document.querySelector("#inspector .raw"); if (raw) { part("inspector-side"); raw.focus(); raw.scrollIntoView({ block: "nearest" }); } },
    Escape() { root.classList.remove("inspector-open"); },
    "."() {
      if (navigator.clipboard) navigator.clipboard.writeText(location.href).then(() => palimpsest.flash(document.getElementById("place"), palimpsest.say("linkCopied")));
    },
  });

  Object.assign(palimpsest, { go, choose, chosen, address, part });
  part("main");

  // A deep link: the entry it means is marked by the server; it is brought into view here.
  const marked = main.querySelector(".entry[aria-current]");
  if (marked) {
    marked.scrollIntoView({ block: "center" });
    place(marked.dataset.seq, marked.dataset.step);
    peek(marked.dataset.seq);
  }
})();
