// The transcript comes in leaves, a window of entries each. Leaves far from what is seen give their place to an empty one of the same
// height, and come back as they were asked for first: the page holds a few of them, however long the session is.
(function () {
  "use strict";

  const KEEP = 1800; // pixels above and below the view within which a leaf stays
  const NEAR = 900; // pixels from the view within which the next leaf is fetched

  const box = () => document.getElementById("entries");
  const busy = new Set();

  // A page that was only opened has what is in view; what lies beyond it comes once a person moves.
  let moved = false;
  ["wheel", "touchmove", "keydown", "pointerdown"].forEach((kind) => addEventListener(kind, () => { moved = true; }, { passive: true, once: true }));
  const reach = () => (moved ? NEAR : 0);

  function near(one) {
    const seen = one.getBoundingClientRect();
    return seen.top < innerHeight + reach() && seen.bottom > -reach();
  }

  function fetched(address) {
    return fetch(address, { headers: { "HX-Request": "true" }, credentials: "same-origin" }).then(function (answer) {
      if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
      return answer.text();
    }).then(function (text) {
      const holder = document.createElement("template");
      holder.innerHTML = text;
      return holder.content.querySelector(".leaf");
    });
  }

  // What stands in view stays where it is, whatever comes or goes above it.
  function holding(change) {
    const fixed = Array.from(box().querySelectorAll(".entry, .band, .turn-head")).find((one) => one.getBoundingClientRect().bottom > 100);
    const before = fixed && fixed.getBoundingClientRect().top;
    change();
    if (fixed && fixed.isConnected) {
      const moved = fixed.getBoundingClientRect().top - before;
      if (Math.abs(moved) >= 1) scrollBy(0, moved);
    }
  }

  // The next leaf behind, or before, the one a link stands in. Resolves to whether one came.
  function load(link) {
    const leaf = link.closest(".leaf"), after = link.dataset.edge === "after";
    if (!leaf || busy.has(link)) return Promise.resolve(false);
    busy.add(link);
    box().setAttribute("aria-busy", "true");
    return fetched(link.getAttribute("href")).then(function (came) {
      busy.delete(link);
      if (!came || !leaf.isConnected) return false;
      const facing = came.querySelector(after ? "[data-edge='before']" : "[data-edge='after']");
      if (facing) facing.closest("p").remove();
      holding(function () {
        link.closest("p").remove();
        if (after) leaf.after(came); else leaf.before(came);
      });
      arrived(came);
      prune();
      return true;
    }).catch(function () {
      busy.delete(link);
      document.dispatchEvent(new CustomEvent("htmx:sendError"));
      return false;
    }).finally(() => box() && box().setAttribute("aria-busy", "false"));
  }

  function more(by) {
    const link = box() && box().querySelector(by > 0 ? "[data-edge='after']" : "[data-edge='before']");
    return link ? load(link) : Promise.resolve(false);
  }

  function arrived(leaf) {
    if (window.htmx) htmx.process(leaf);
    leaf.querySelectorAll("[data-edge]").forEach((link) => edges.observe(link));
    document.dispatchEvent(new CustomEvent("palimpsest:leaf", { detail: leaf }));
  }

  // Far leaves go. An empty place knows what stood there: the addresses of its leaves, first to last, and their heights.
  const gone = new WeakMap();

  function prune() {
    if (!box()) return;
    const leaves = Array.from(box().querySelectorAll(":scope > .leaf"));
    const far = leaves.filter(function (leaf) {
      const seen = leaf.getBoundingClientRect();
      return (seen.bottom < -KEEP || seen.top > innerHeight + KEEP) && !leaf.querySelector("[data-edge], [aria-current]") && leaf.dataset.src;
    });
    if (!far.length) return;
    holding(function () {
      far.forEach(function (leaf) {
        const part = { src: leaf.dataset.src, height: leaf.offsetHeight };
        const before = leaf.previousElementSibling, behind = leaf.nextElementSibling;
        const upper = before && before.matches(".gone") ? before : null, lower = behind && behind.matches(".gone") ? behind : null;
        if (upper) {
          gone.get(upper).push(part);
          if (lower) { gone.get(upper).push(...gone.get(lower)); places.unobserve(lower); lower.remove(); }
          leaf.remove();
          sized(upper);
        } else if (lower) {
          gone.get(lower).unshift(part);
          leaf.remove();
          sized(lower);
        } else {
          const place = empty([part]);
          leaf.replaceWith(place);
        }
      });
    });
  }

  function empty(parts) {
    const place = document.createElement("div");
    place.className = "gone";
    gone.set(place, parts);
    sized(place);
    places.observe(place);
    return place;
  }

  function sized(place) {
    place.style.height = gone.get(place).reduce((sum, part) => sum + part.height, 0) + "px";
  }

  // The leaf of an empty place that is nearest to what is seen comes back.
  function refill(place) {
    const parts = gone.get(place);
    if (!parts || busy.has(place)) return;
    const seen = place.getBoundingClientRect();
    if (seen.bottom < -NEAR || seen.top > innerHeight + NEAR) return;
    const middle = Math.min(Math.max(innerHeight / 2 - seen.top, 0), seen.height - 1);
    let at = 0, down = parts[0].height;
    while (down <= middle && at + 1 < parts.length) { at += 1; down += parts[at].height; }
    busy.add(place);
    fetched(parts[at].src).then(function (came) {
      busy.delete(place);
      if (!came || !place.isConnected) return;
      came.querySelectorAll("[data-edge]").forEach((link) => link.closest("p").remove());
      holding(function () {
        const upper = parts.slice(0, at), lower = parts.slice(at + 1);
        if (upper.length) place.before(empty(upper));
        place.before(came);
        if (lower.length) place.before(empty(lower));
        places.unobserve(place);
        place.remove();
      });
      arrived(came);
      box().querySelectorAll(":scope > .gone").forEach(refill);
      prune();
    }).catch(() => busy.delete(place));
  }

  const edges = new IntersectionObserver(function (seen) {
    seen.forEach((one) => { if (one.isIntersecting && one.target.isConnected && scrollY > 0 && near(one.target)) load(one.target); });
  }, { rootMargin: NEAR + "px 0px" });
  const places = new IntersectionObserver(function (seen) {
    seen.forEach((one) => { if (one.isIntersecting) refill(one.target); });
  }, { rootMargin: NEAR + "px 0px" });

  let waiting = null;
  addEventListener("scroll", function () {
    if (waiting) return;
    waiting = setTimeout(function () {
      waiting = null;
      prune();
      if (!box()) return;
      box().querySelectorAll(":scope > .gone").forEach(refill);
      box().querySelectorAll("[data-edge]").forEach((link) => { if (near(link)) load(link); });
    }, 90);
  }, { passive: true });

  function start() {
    if (box()) box().querySelectorAll("[data-edge]").forEach((link) => edges.observe(link));
  }

  window.palimpsest.leaves = { load, more, start, prune, holding, arrived };
  document.addEventListener("htmx:afterSettle", start);
  start();
})();
