// The list by keys: j and k move, Enter opens, c compacts, f filters. The row chosen survives a swap of the results where it is still there.
(function () {
  "use strict";

  let chosen = -1;
  const rows = () => Array.from(document.querySelectorAll("#rows > tr[data-row]"));

  function choose(n) {
    const all = rows();
    if (!all.length) return;
    chosen = Math.max(0, Math.min(all.length - 1, n));
    all.forEach((row, i) => row.classList.toggle("selected", i === chosen));
    const link = all[chosen].querySelector(".title a");
    link.focus({ preventScroll: true });
    all[chosen].scrollIntoView({ block: "nearest" });
  }

  palimpsest.keys({
    j() { choose(chosen + 1); },
    k() { choose(chosen - 1); },
    c() { const row = rows()[chosen]; if (row) location.href = row.querySelector(".title a").href + "/compact"; },
    f() { const field = document.getElementById("text"); if (field) field.focus(); },
  });

  document.addEventListener("click", function (event) {
    const row = event.target.closest("tr[data-row]");
    if (row && !event.target.closest("a, button, input, label") && !getSelection().toString()) row.querySelector(".title a").click();
  });
  document.addEventListener("focusin", function (event) {
    const row = event.target.closest("tr[data-row]");
    if (row) { chosen = rows().indexOf(row); rows().forEach((one, i) => one.classList.toggle("selected", i === chosen)); }
  });
  document.addEventListener("htmx:afterSwap", function () { chosen = -1; });

  // A choice that is set looks set at once.
  document.addEventListener("change", function (event) {
    const pick = event.target.closest(".pick");
    if (pick) pick.classList.toggle("set", event.target.type === "checkbox" ? event.target.checked : Boolean(event.target.value));
  });
})();
