// Search by keys: j and k go from hit to hit, n and p from session to session, Enter opens what is focused.
(function () {
  "use strict";

  function step(selector, by) {
    const all = Array.from(document.querySelectorAll("#found " + selector));
    if (!all.length) return;
    const here = document.activeElement;
    let at = all.indexOf(here);
    if (at < 0 && here && here.closest("#found")) {
      // From a title to the hits below it, and back: the next in the order of the page.
      const behind = all.findIndex((one) => here.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
      at = behind < 0 ? (by > 0 ? all.length - 1 : all.length) : by > 0 ? behind - 1 : behind;
    }
    const next = all[Math.max(0, Math.min(all.length - 1, at + by))];
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  palimpsest.keys({
    j() { step("[data-hit]", 1); },
    k() { step("[data-hit]", -1); },
    n() { step("[data-session]", 1); },
    p() { step("[data-session]", -1); },
    "/"() { const field = document.getElementById("q"); field.focus(); field.select(); },
  });

  // On a narrow page the facets wait behind their line; what was opened stays open.
  let opened = false;
  function fold() {
    const facets = document.querySelector(".search-narrow");
    if (facets && matchMedia("(max-width: 799px)").matches) facets.open = opened;
  }
  fold();
  document.addEventListener("htmx:afterSwap", fold);
  document.addEventListener("toggle", function (event) {
    if (event.target.matches(".search-narrow") && event.target.isConnected) opened = event.target.open;
  }, true);

  // What is saved is the search as it stands, and writing its name asks for nothing.
  document.addEventListener("htmx:afterSettle", function () {
    document.querySelectorAll("[data-search-query]").forEach((field) => { field.value = location.search.slice(1); });
  });
  document.querySelectorAll(".search-saved").forEach((menu) => menu.addEventListener("change", (event) => event.stopPropagation()));

  // A row of a hit is as wide as its link.
  document.addEventListener("click", function (event) {
    const row = event.target.closest(".search-hit");
    if (row && !event.target.closest("a, button") && !getSelection().toString()) row.querySelector("[data-hit]").click();
  });

  document.addEventListener("change", function (event) {
    const pick = event.target.closest(".pick");
    if (pick) pick.classList.toggle("set", event.target.name === "when" && Boolean(event.target.value));
  });
})();
