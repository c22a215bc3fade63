// What a scrolled page shows: a short bar with title, meter and action; the entry at the top moves the chart's cursor.
(function () {
  "use strict";

  const root = document.getElementById("session");
  if (!root) return;
  const main = document.getElementById("main");

  new IntersectionObserver((seen) => { document.body.classList.toggle("scrolled", !seen[0].isIntersecting); }, { rootMargin: "-40px 0px 0px 0px" }).observe(document.querySelector(".chart-section"));

  let ticking = false;
  addEventListener("scroll", function () {
    if (ticking) return;
    ticking = true;
    requestAnimationFrame(function () {
      ticking = false;
      // The chosen entry holds the cursor for as long as it is in sight.
      const held = palimpsest.chosen(), box = held && held.getBoundingClientRect();
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
})();
