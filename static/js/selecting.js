// Several sessions of the list at once: x or a tick selects; the bar says how many and what they hold, and offers what can be done with them.
(function () {
  "use strict";

  const bar = () => document.getElementById("bulk");
  const ticks = () => Array.from(document.querySelectorAll("#rows .tick input"));
  const number = (n) => n.toLocaleString(document.documentElement.lang);
  let last = null;

  function say() {
    const form = bar();
    if (!form) return;
    const all = ticks(), chosen = all.filter((one) => one.checked);
    form.classList.toggle("on", chosen.length > 0);
    const every = form.querySelector("[data-select-all]");
    every.checked = all.length > 0 && chosen.length === all.length;
    every.indeterminate = chosen.length > 0 && chosen.length < all.length;
    const words = form.querySelector("[data-selected]"), sum = form.querySelector("[data-tokens]");
    words.textContent = words.dataset.words.replace("0", number(chosen.length));
    const held = chosen.map((one) => one.closest(".title").dataset.used).filter((used) => used !== undefined);
    // What is not known of one is not known of all.
    sum.textContent = held.length === chosen.length ? sum.dataset.words.replace("0", number(held.reduce((total, used) => total + Number(used), 0))) : "";
    form.querySelectorAll("[data-one]").forEach(function (link) {
      link.hidden = chosen.length !== 1;
      if (chosen.length === 1) link.href = link.dataset.one.replace("SESSION", chosen[0].value);
    });
  }

  function all(checked) {
    ticks().forEach((one) => { one.checked = checked; });
    say();
  }

  document.addEventListener("change", function (event) {
    if (event.target.matches("#rows .tick input")) say();
    else if (event.target.matches("[data-select-all]")) all(event.target.checked);
  });

  document.addEventListener("click", function (event) {
    if (event.target.closest("[data-select-none]")) { all(false); return; }
    const tick = event.target.matches("#rows .tick input") ? event.target : null;
    if (!tick) return;
    const every = ticks();
    if (event.shiftKey && last !== null && every.includes(last)) {
      const [from, to] = [every.indexOf(last), every.indexOf(tick)].sort((a, b) => a - b);
      every.slice(from, to + 1).forEach((one) => { one.checked = tick.checked; });
    }
    last = tick;
  });

  palimpsest.keys({
    x() {
      const row = document.querySelector("#rows tr.selected"), tick = row && row.querySelector(".tick input");
      if (tick) { tick.checked = !tick.checked; say(); }
    },
  });
  // The filters go with the page's address: what saves them reads them there.
  function filters() {
    const query = new URLSearchParams(location.search);
    query.delete("after");
    document.querySelectorAll("[data-list-query]").forEach((field) => { field.value = query.toString(); });
  }
  document.addEventListener("submit", filters, true);
  document.addEventListener("htmx:afterSettle", say);
  say();
})();
