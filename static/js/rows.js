// Rows of the transcript: entries, ghosts and insertions open and close in place; turns fold; ghosts are shown or not.
(function () {
  "use strict";

  const root = document.getElementById("session");
  if (!root) return;
  const main = document.getElementById("main");
  const { address, chosen, choose } = palimpsest;

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
    fetch(link.href, { credentials: "same-origin" }).then((answer) => answer.text()).then((text) => navigator.clipboard.writeText(text)).then(() => palimpsest.flash(link, link.dataset.copied || palimpsest.say("copied")));
  }

  function fold(button, closed) {
    const turn = button.closest(".turn");
    const now = turn.classList.toggle("closed", closed);
    button.setAttribute("aria-expanded", String(!now));
  }

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

  // Clicks: one listener for what each row would otherwise carry by itself -------------------------------------------

  const LINKS = [
    [".toggle", (link) => { choose(link.closest(".entry"), { scroll: false }); toggle(link.closest(".entry")); }],
    [".diff-toggle", (link) => { palimpsest.stored("diff", link.search.includes("diff=split") ? "split" : ""); swapRow(link, ".entry"); }],
    [".open-link", (link) => swapRow(link, ".entry")],
    [".ghost-link", (link) => swapRow(link, ".band")],
    [".insertion-link", (link) => swapRow(link, ".added")],
    ["[data-opens-records]", (link) => swapRow(link, ".quiet")],
    ["[data-copy-from]", copyFrom],
    ["[data-edge]", (link) => palimpsest.leaves.load(link)],
    ["[data-stands]", stands],
  ];

  // What stands for a ghost is shown where it is on the page; else its link leads to it.
  function stands(link) {
    const there = document.getElementById(link.dataset.stands);
    if (!there) return false;
    there.tabIndex = -1;
    there.scrollIntoView({ block: "center" });
    there.focus({ preventScroll: true });
    return true;
  }

  document.addEventListener("click", function (event) {
    const turn = event.target.closest("[data-turn-toggle]");
    if (turn) { fold(turn); return; }
    if (event.target.closest("[data-ghosts]")) { cycleGhosts(); return; }
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target.closest("a");
    const known = link && root.contains(link) && LINKS.find(([selector]) => link.matches(selector));
    if (known && known[1](link) !== false) event.preventDefault();
  });

  palimpsest.toggle = toggle;
  palimpsest.keys({
    o() {
      const now = chosen();
      if (!now) return;
      if (now.classList.contains("band")) { const link = now.querySelector(".ghost-link"); if (link) link.click(); }
      else if (now.matches(".entry")) toggle(now);
    },
    h() { cycleGhosts(); },
    z() { const now = chosen(); const turn = now && now.closest(".turn"); const button = turn && turn.querySelector("[data-turn-toggle]"); if (button) fold(button); },
    Z() { const all = Array.from(main.querySelectorAll("[data-turn-toggle]")); const close = all.some((one) => one.getAttribute("aria-expanded") === "true"); all.forEach((one) => fold(one, close)); },
    y() { const now = chosen(); const link = now && now.querySelector("[data-copy-from]"); if (link) copyFrom(link); },
    d() { const now = chosen(); const link = now && now.querySelector(".diff-toggle"); if (link) link.click(); },
  });
})();
