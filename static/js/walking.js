// Walking by keys: from entry to entry, from turn to turn, through the goals beside the transcript.
(function () {
  "use strict";

  const root = document.getElementById("session");
  if (!root) return;
  const main = document.getElementById("main");
  const { chosen, choose, part } = palimpsest;
  let goalsHaveKeys = false;

  const visible = (element) => element.getClientRects().length > 0;
  const places = () => Array.from(main.querySelectorAll(".entry, .band, .item, .records p[data-seq]")).filter(visible);

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

  // Clicks on keys that are shown as buttons, and on the ways beside -------------------------------------------------------

  document.addEventListener("click", function (event) {
    const act = event.target.closest("[data-do]");
    if (act) { document.dispatchEvent(new KeyboardEvent("keydown", { key: act.dataset.do, bubbles: true })); return; }
    const way = event.target.closest("[data-tab]");
    if (way) way.parentElement.querySelectorAll("[data-tab]").forEach((one) => one === way ? one.setAttribute("aria-current", "true") : one.removeAttribute("aria-current"));
  });

  palimpsest.markGoal = mark;
  palimpsest.keys({
    j() { step(1); },
    k() { step(-1); },
    n() { turnStep(1); },
    p() { turnStep(-1); },
    g() { const all = goals(); const first = all.find((one) => one.tabIndex === 0) || all[0]; if (first) { part("goals"); first.focus(); } },
    m() { const tabs = Array.from(document.querySelectorAll("[data-view]")); const other = tabs.find((tab) => !tab.hasAttribute("aria-current")); if (other) other.click(); },
    v() { part("goals"); const side = document.getElementById("versions"); side.scrollIntoView({ block: "nearest" }); side.focus(); },
  });
})();
