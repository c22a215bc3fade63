// The comparison without another dry run: headings sort the rows in place; j, k choose a strategy; [ and ] walk the differences.
(function () {
  "use strict";

  const rows = () => Array.from(document.querySelectorAll(".dry-run"));

  function value(row, key) {
    const text = row.dataset[key];
    if (text === undefined || text === "") return Infinity;
    const number = parseFloat(text);
    return key === "retention" ? -number : number;
  }

  document.addEventListener("click", function (event) {
    const link = event.target.closest("[data-sort]");
    if (!link) return;
    event.preventDefault();
    const key = link.dataset.sort || "place";
    const body = document.querySelector(".dry-runs tbody");
    rows().sort((a, b) => value(a, key) - value(b, key)).forEach((row) => body.appendChild(row));
    document.querySelectorAll("[data-sort]").forEach((one) => one.removeAttribute("aria-current"));
    link.setAttribute("aria-current", "true");
  });

  document.addEventListener("change", function (event) {
    if (!event.target.matches(".dry-run input[name=show]")) return;
    rows().forEach((row) => row.classList.toggle("chosen", row.contains(event.target)));
  });

  function choose(by) {
    const radios = rows().map((row) => row.querySelector("input[name=show]")).filter(Boolean);
    const next = radios[radios.findIndex((radio) => radio.checked) + by];
    if (next) { next.focus(); next.click(); }
  }

  function walk(by) {
    const pairs = Array.from(document.querySelectorAll("[data-pair]"));
    const next = pairs[pairs.indexOf(document.activeElement) + by] || (by > 0 ? null : pairs[0]);
    if (next) { next.focus({ preventScroll: true }); next.scrollIntoView({ block: "center" }); }
  }

  palimpsest.keys({
    j() { choose(1); },
    k() { choose(-1); },
    "["() { walk(-1); },
    "]"() { walk(1); },
    c() { const go = document.getElementById("compare-go"); if (go && !go.hidden) go.click(); },
  });
})();
