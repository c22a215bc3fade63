// The audit by keys: j and k move, o opens, x selects, a accepts, f follows up. The row chosen survives a swap where it is still there.
(function () {
  "use strict";

  let chosen = null;
  const rows = () => Array.from(document.querySelectorAll("tbody.goal-row"));
  const current = () => (chosen && document.getElementById(chosen)) || null;

  function choose(row) {
    if (!row) return;
    chosen = row.id;
    rows().forEach((one) => one.classList.toggle("current", one === row));
    row.querySelector(".opener").focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  function step(by) {
    const all = rows();
    if (!all.length) return;
    const at = all.indexOf(current());
    choose(all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + by))]);
  }

  // An open row is reviewed with what is typed in it; a closed one at once.
  function review(state) {
    const row = current();
    if (!row) return;
    const button = row.querySelector(".review-form button[value='" + state + "']");
    if (button) { button.click(); return; }
    if (!row.querySelector("input[name='n']")) return;
    htmx.ajax("POST", "/abandoned/" + row.dataset.row + "/review", { source: row, target: "#" + row.id, swap: "outerHTML", values: { state: state } });
  }

  palimpsest.keys({
    j() { step(1); },
    k() { step(-1); },
    o() { const row = current(); if (row) row.querySelector(".opener").click(); },
    x() { const row = current(); const box = row && row.querySelector("input[name='n']"); if (box) box.click(); },
    a() { review("accepted"); },
    f() { review("follow_up"); },
  });

  function count() {
    const said = document.querySelector("[data-selected-count]");
    if (said) { const n = document.querySelectorAll("input[name='n']:checked").length; said.textContent = n ? String(n) : ""; }
  }

  document.addEventListener("change", function (event) {
    if (event.target.matches("[data-select-all]")) {
      document.querySelectorAll("input[name='n']").forEach((box) => { box.checked = event.target.checked; });
    }
    if (event.target.matches("[data-select-all], input[name='n']")) count();
    // A facet stands beside the form that it belongs to, so that its change does not bubble there. The search field asks as it is typed in:
    // that it is left asks for nothing more.
    if (event.target.form && event.target.form.id === "filters" && event.target.type !== "search") htmx.trigger("#filters", "submit");
    const pick = event.target.closest(".audit-search .pick.check");
    if (pick) pick.classList.toggle("set", event.target.checked);
  });
  document.addEventListener("click", function (event) {
    const row = event.target.closest("tr.head");
    if (row && !event.target.closest("a, button, input, label") && !getSelection().toString()) row.querySelector(".opener").click();
  });
  document.addEventListener("focusin", function (event) {
    const row = event.target.closest("tbody.goal-row");
    if (row && row.id !== chosen) { chosen = row.id; rows().forEach((one) => one.classList.toggle("current", one === row)); }
  });

  // On a narrow page the facets of which nothing is chosen begin closed.
  function narrow() {
    if (!matchMedia("(max-width: 799px)").matches) return;
    document.querySelectorAll(".facet").forEach((facet) => { if (!facet.querySelector("input:checked")) facet.open = false; });
  }
  narrow();

  // What is exported and saved is what is chosen now; a row that was swapped keeps the focus.
  document.addEventListener("htmx:afterSettle", function (event) {
    const audit = document.getElementById("audit");
    if (audit && event.detail.target && event.detail.target.id === "audit") {
      narrow();
      document.querySelectorAll("[data-audit-export]").forEach((link) => { link.search = audit.dataset.query; });
      document.querySelectorAll("[data-audit-query]").forEach((field) => { field.value = audit.dataset.query; });
    }
    const row = current();
    if (row && !row.contains(document.activeElement) && event.detail.target && event.detail.target.id === chosen) choose(row);
    count();
  });
})();
