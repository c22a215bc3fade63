// The session page: choosing an entry, opening it, ghosts, keys, the questions before a head moves, the place in the address.
// Every link works without this file; here the same addresses are swapped into the page.
(function () {
  "use strict";

  const root = document.getElementById("session");
  if (!root) return;
  const here = root.dataset.session;
  const main = document.getElementById("main");
  let goalsHaveKeys = false;

  const version = () => (root.dataset.v ? "v=" + root.dataset.v : "");
  const address = (path, query) => here + path + (query || version() ? "?" + [version(), query].filter(Boolean).join("&") : "");
  const visible = (element) => element.getClientRects().length > 0;
  const places = () => Array.from(main.querySelectorAll(".entry, .band, .item, .records p[data-seq]")).filter(visible);
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
  palimpsest.go = go;
  palimpsest.choose = choose;
  palimpsest.chosen = chosen;
  palimpsest.toggle = toggle;
  palimpsest.address = address;

  // Opening -------------------------------------------------------------------------------------------------------

  function toggle(article) {
    const link = article.querySelector(".toggle") || article.querySelector(".open-link");
    if (!link) return;
    const open = article.classList.contains("open");
    const current = article.getAttribute("aria-current");
    const split = palimpsest.stored("diff") === "split" && matchMedia("(min-width: 1000px)").matches;
    const path = address("/e/" + article.dataset.seq, open ? "closed=1" : split ? "diff=split" : "");
    const id = article.id;
    // Each row asks for itself: requests of one source wait for one another, and of those that wait only the last is sent.
    htmx.ajax("GET", path, { source: article, target: "#" + id, swap: "outerHTML" }).then(function () {
      const now = document.getElementById(id);
      if (!now) return;
      if (current) now.setAttribute("aria-current", "true");
      if (document.activeElement === document.body || now.contains(document.activeElement)) now.focus({ preventScroll: true });
    });
  }

  function swapRow(link, selector) {
    const row = link.closest(selector), current = row.getAttribute("aria-current");
    if (!row.id) row.id = "row" + Math.random().toString(36).slice(2);
    const id = row.id;
    htmx.ajax("GET", link.getAttribute("href"), { source: row, target: "#" + id, swap: "outerHTML" }).then(function () {
      const now = document.getElementById(id);
      if (now && current) { now.setAttribute("aria-current", "true"); now.focus({ preventScroll: true }); }
      if (now && now.classList.contains("band")) { const act = now.querySelector(".ghost-link"); if (act) act.focus({ preventScroll: true }); }
    });
  }

  // The exact text as the record holds it, not what the page shows of it.
  function copyFrom(link) {
    if (!navigator.clipboard) return;
    fetch(link.href, { credentials: "same-origin" }).then((answer) => answer.text()).then((text) => navigator.clipboard.writeText(text)).then(function () {
      const words = link.textContent;
      link.textContent = link.dataset.copied || palimpsest.say("copied");
      setTimeout(() => { link.textContent = words; }, 1200);
    });
  }

  // Clicks: one listener for what each row would otherwise carry by itself -------------------------------------------

  document.addEventListener("click", function (event) {
    const ask = event.target.closest("[data-ask]");
    if (ask) {
      event.preventDefault();
      if (!ask.disabled) question(ask);
      return;
    }
    const close = event.target.closest("[data-close]");
    if (close) { close.closest("dialog").close(); return; }
    const act = event.target.closest("[data-do]");
    if (act) { document.dispatchEvent(new KeyboardEvent("keydown", { key: act.dataset.do, bubbles: true })); return; }
    const pin = event.target.closest("[data-pin]");
    if (pin) { sendPin(pin.dataset.pin); return; }
    const turn = event.target.closest("[data-turn-toggle]");
    if (turn) { fold(turn); return; }
    const ghosts = event.target.closest("[data-ghosts]");
    if (ghosts) { cycleGhosts(); return; }
    const tab = event.target.closest("[data-part]");
    if (tab) { event.preventDefault(); part(tab.dataset.part); return; }
    const outline = event.target.closest("[data-tab]");
    if (outline) outline.parentElement.querySelectorAll("[data-tab]").forEach((one) => one === outline ? one.setAttribute("aria-current", "true") : one.removeAttribute("aria-current"));
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;

    const link = event.target.closest("a");
    if (link && root.contains(link)) {
      if (link.matches(".toggle")) { event.preventDefault(); choose(link.closest(".entry"), { scroll: false }); toggle(link.closest(".entry")); }
      else if (link.matches(".open-link")) { event.preventDefault(); swapRow(link, ".entry"); }
      else if (link.matches(".diff-toggle")) { event.preventDefault(); palimpsest.stored("diff", link.search.includes("diff=split") ? "split" : ""); swapRow(link, ".entry"); }
      else if (link.matches("[data-copy-from]")) { event.preventDefault(); copyFrom(link); }
      else if (link.matches(".ghost-link")) { event.preventDefault(); swapRow(link, ".band"); }
      else if (link.matches(".insertion-link")) { event.preventDefault(); swapRow(link, ".added"); }
      else if (link.matches("[data-stands]") && document.getElementById(link.dataset.stands)) {
        event.preventDefault();
        const stands = document.getElementById(link.dataset.stands);
        stands.tabIndex = -1;
        stands.scrollIntoView({ block: "center" });
        stands.focus({ preventScroll: true });
      }
      else if (link.matches(".inspect-link")) { event.preventDefault(); htmx.ajax("GET", link.getAttribute("href"), { source: "#inspector", target: "#inspector", swap: "innerHTML" }); }
      else if (link.matches("[data-edge]")) { event.preventDefault(); palimpsest.leaves.load(link); }
      else if (link.matches("[data-opens-records]")) { event.preventDefault(); swapRow(link, ".quiet"); }
      else if (link.matches(".entry .no, .records .no")) { event.preventDefault(); choose(link.closest("[data-seq]"), { scroll: false }); }
      else if (link.pathname === here && !link.hasAttribute("data-copy") && !link.hasAttribute("data-view")) {
        const query = new URLSearchParams(link.search);
        const at = query.get("at");
        if (at && !query.has("v") && !query.has("view") && document.getElementById("entries")) {
          event.preventDefault();
          part("main");
          const goal = link.closest(".goal");
          if (goal) mark(goal);
          go(at);
        }
      }
      return;
    }
    const row = event.target.closest(".entry, .item");
    if (row && main.contains(row) && !event.target.closest("button, input, summary") && !String(getSelection())) choose(row, { scroll: false });
  });

  function fold(button, closed) {
    const turn = button.closest(".turn");
    const now = turn.classList.toggle("closed", closed);
    button.setAttribute("aria-expanded", String(!now));
  }

  function part(id) {
    document.querySelectorAll(".three > *").forEach((one) => one.classList.toggle("shown", one.id === id));
    document.querySelectorAll("[data-part]").forEach((one) => one.dataset.part === id ? one.setAttribute("aria-current", "true") : one.removeAttribute("aria-current"));
    if (id === "inspector-side" && matchMedia("(min-width: 800px) and (max-width: 1199px)").matches) root.classList.add("inspector-open");
  }
  part("main");

  // Ghosts: shown as bands, or hidden; kept for the next page ------------------------------------------------------------

  function cycleGhosts() {
    const hidden = main.classList.toggle("ghosts-hidden");
    palimpsest.stored("ghosts", hidden ? "hide" : "");
    sayGhosts();
  }
  function sayGhosts() {
    const button = document.querySelector("[data-ghosts]");
    if (!button) return;
    const hidden = main.classList.contains("ghosts-hidden");
    button.textContent = palimpsest.say(hidden ? "ghostsHidden" : "ghostsShown");
    button.setAttribute("aria-pressed", String(!hidden));
  }
  const asked = new URLSearchParams(location.search).get("ghosts");
  if (asked === "hide" || (asked === null && palimpsest.stored("ghosts") === "hide")) main.classList.add("ghosts-hidden");
  sayGhosts();

  // Questions -------------------------------------------------------------------------------------------------------------

  function question(from) {
    const name = typeof from === "string" ? from : from.dataset.ask;
    const dialog = document.getElementById("ask-" + name);
    if (!dialog || dialog.open) return;
    dialog.querySelectorAll("template").forEach((held) => held.replaceWith(held.content));
    if (name === "rollback") {
      const seq = (from.dataset && from.dataset.entry) || (chosen() && chosen().dataset.seq);
      if (seq !== undefined && seq !== null) dialog.querySelector("[name=to]").value = "e" + seq;
    }
    if (name === "restore") {
      dialog.querySelector("[name=version]").value = from.dataset.version;
      dialog.querySelector("[data-says]").textContent = from.dataset.words;
    }
    dialog.showModal();
  }

  function sendPin(seq) {
    htmx.ajax("POST", here + "/pin", { source: "#inspector", target: "#inspector", swap: "innerHTML", values: { seq } });
  }

  // Keys ---------------------------------------------------------------------------------------------------------------------

  function step(by) {
    if (goalsHaveKeys) { stepGoal(by); return; }
    const all = places();
    if (!all.length) return;
    const at = all.indexOf(chosen());
    if (at < 0) { choose(all.find((one) => one.getBoundingClientRect().top > 80) || all[0]); return; }
    const next = all[at + by];
    if (next) choose(next);
    else palimpsest.leaves.more(by).then((came) => { if (came) step(by); });
  }

  function turnStep(by) {
    const heads = Array.from(main.querySelectorAll(".turn-head"));
    const top = 90;
    const ahead = by > 0
      ? heads.find((head) => head.getBoundingClientRect().top > top + 4)
      : heads.reverse().find((head) => head.getBoundingClientRect().top < top - 4);
    if (ahead) {
      ahead.scrollIntoView({ block: "start" });
      const first = ahead.parentElement.querySelector(".entry");
      if (first) choose(first, { scroll: false });
    } else palimpsest.leaves.more(by).then((came) => { if (came) turnStep(by); });
  }

  const goals = () => Array.from(document.querySelectorAll("#outline .goal"));
  function mark(goal) {
    goals().forEach((one) => { one.setAttribute("aria-selected", String(one === goal)); one.tabIndex = one === goal ? 0 : -1; });
    document.dispatchEvent(new CustomEvent("palimpsest:span", { detail: { first: Number(goal.dataset.first), last: Number(goal.dataset.last) } }));
  }
  function stepGoal(by) {
    const all = goals();
    const at = all.indexOf(document.activeElement);
    const next = all[Math.max(0, Math.min(all.length - 1, at + by))];
    if (next) { next.focus(); mark(next); }
  }
  document.addEventListener("focusin", (event) => { goalsHaveKeys = Boolean(event.target.closest && event.target.closest("#outline")); });
  document.addEventListener("keydown", function (event) {
    const goal = event.target.closest && event.target.closest(".goal");
    if (!goal) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); stepGoal(event.key === "ArrowDown" ? 1 : -1); }
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); goal.querySelector(".text").click(); }
  });

  palimpsest.part = part;
  palimpsest.keys({
    j() { step(1); },
    k() { step(-1); },
    n() { turnStep(1); },
    p() { turnStep(-1); },
    o() {
      const now = chosen();
      if (!now) return;
      if (now.classList.contains("band")) { const link = now.querySelector(".ghost-link"); if (link) link.click(); }
      else if (now.matches(".entry")) toggle(now);
    },
    g() { const all = goals(); const first = all.find((one) => one.tabIndex === 0) || all[0]; if (first) { part("goals"); first.focus(); } },
    G() { question("goto"); },
    i() {
      if (matchMedia("(max-width: 799px)").matches) { part("inspector-side"); return; }
      if (matchMedia("(max-width: 1199px)").matches) root.classList.toggle("inspector-open");
      document.getElementById("inspector").focus();
    },
    h() { cycleGhosts(); },
    m() { const tabs = Array.from(document.querySelectorAll("[data-view]")); const other = tabs.find((tab) => !tab.hasAttribute("aria-current")); if (other) other.click(); },
    v() { part("goals"); const side = document.getElementById("versions"); side.scrollIntoView({ block: "nearest" }); side.focus(); },
    c() { const link = document.getElementById("compact"); if (link) link.click(); },
    u() { question("undo"); },
    U() { question("redo"); },
    b() { question("rollback"); },
    P() { const now = chosen(); if (now && now.dataset.seq) sendPin(now.dataset.seq); },
    z() { const now = chosen(); const turn = now && now.closest(".turn"); const button = turn && turn.querySelector("[data-turn-toggle]"); if (button) fold(button); },
    Z() { const all = Array.from(main.querySelectorAll("[data-turn-toggle]")); const close = all.some((one) => one.getAttribute("aria-expanded") === "true"); all.forEach((one) => fold(one, close)); },
    y() { const now = chosen(); const link = now && now.querySelector("[data-copy-from]"); if (link) copyFrom(link); },
    d() { const now = chosen(); const link = now && now.querySelector(".diff-toggle"); if (link) link.click(); },
    r() { const raw = document.querySelector("#inspector .raw"); if (raw) { part("inspector-side"); raw.focus(); raw.scrollIntoView({ block: "nearest" }); } },
    Escape() { root.classList.remove("inspector-open"); },
    "."() {
      if (navigator.clipboard) navigator.clipboard.writeText(location.href).then(() => { const words = document.getElementById("place"); if (words) { const was = words.textContent; words.textContent = palimpsest.say("linkCopied"); setTimeout(() => { words.textContent = was; }, 1200); } });
    },
  });

  // A short bar repeats title, meter and action once the head is out of sight; the entry at the top moves the chart's cursor.
  new IntersectionObserver((seen) => { document.body.classList.toggle("scrolled", !seen[0].isIntersecting); }, { rootMargin: "-40px 0px 0px 0px" }).observe(document.querySelector(".chart-section"));

  let ticking = false;
  addEventListener("scroll", function () {
    if (ticking) return;
    ticking = true;
    requestAnimationFrame(function () {
      ticking = false;
      // The chosen entry holds the cursor for as long as it is in sight.
      const held = chosen(), box = held && held.getBoundingClientRect();
      if (box && box.bottom > 90 && box.top < innerHeight) return;
      const all = main.querySelectorAll(".entry[data-step]");
      let low = 0, high = all.length - 1, found = null;
      while (low <= high) {
        const middle = (low + high) >> 1;
        if (all[middle].getBoundingClientRect().bottom < 110) low = middle + 1; else { found = all[middle]; high = middle - 1; }
      }
      if (found && scrollY > 200) document.dispatchEvent(new CustomEvent("palimpsest:place", { detail: { seq: Number(found.dataset.seq), step: Number(found.dataset.step) } }));
    });
  }, { passive: true });

  // A deep link: the entry it means is marked by the server; it is brought into view here.
  const marked = main.querySelector(".entry[aria-current]");
  if (marked) {
    marked.scrollIntoView({ block: "center" });
    place(marked.dataset.seq, marked.dataset.step);
    peek(marked.dataset.seq);
  }
})();
