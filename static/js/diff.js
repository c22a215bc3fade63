// [ and ] move between differences (or, on the page of one step, between steps); o shows and hides a difference's entries.
(function () {
  "use strict";

  const all = () => Array.from(document.querySelectorAll(".difference"));
  const box = document.getElementById("diff-rows");
  let here = null;
  let wanted = false;

  function stand(one) {
    if (here) here.removeAttribute("aria-current");
    here = one;
    here.setAttribute("aria-current", "true");
    here.focus({ preventScroll: true });
    here.scrollIntoView({ block: "center" });
    const place = document.getElementById("diff-place");
    if (place) place.textContent = palimpsest.say("difference", { n: Number(one.dataset.d).toLocaleString("en"), total: Number(box.dataset.total).toLocaleString("en") });
    if (history.replaceState) history.replaceState(history.state, "", "#" + one.id);
  }

  function step(by) {
    const link = document.querySelector(by > 0 ? "[data-next]" : "[data-before]");
    if (!box) { if (link) link.click(); return; }
    const rows = all();
    const focused = document.activeElement.closest && document.activeElement.closest(".difference");
    const at = rows.indexOf(focused || here);
    const next = at < 0 ? rows[by > 0 ? 0 : rows.length - 1] : rows[at + by];
    if (next) { stand(next); return; }
    const later = by > 0 && document.querySelector("[data-later]");
    if (later && !wanted) { wanted = true; later.click(); }
  }

  function open() {
    const row = (document.activeElement.closest && document.activeElement.closest(".difference, .same")) || here;
    const link = row && row.querySelector("[data-open]");
    if (link) link.click();
  }

  palimpsest.keys({
    "["() { step(-1); },
    "]"() { step(1); },
    o() { open(); },
  });

  document.addEventListener("click", function (event) {
    const button = event.target.closest("[data-step]");
    if (button) { step(Number(button.dataset.step)); return; }
    // A second click on what is open closes it again, without a request.
    const link = event.target.closest("[data-open]");
    const list = link && link.closest(".difference, .same").querySelector(".within");
    if (list && list.childElementCount) {
      event.preventDefault();
      event.stopPropagation();
      list.textContent = "";
    }
  }, true);

  document.addEventListener("htmx:afterSettle", function () {
    if (!wanted) return;
    const rows = all();
    const next = rows[rows.indexOf(here) + 1];
    if (next) { wanted = false; stand(next); }
  });

  const asked = /^#d\d+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
  if (asked) stand(asked);
})();
