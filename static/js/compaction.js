// What htmx and plain forms cannot do on the pages of compaction: keys, edited words that must not get lost, one announcement a step.
(function () {
  "use strict";

  const $ = (selector, root) => (root || document).querySelector(selector);

  function say(words) {
    const line = $("#announce");
    if (line && words && line.textContent !== words) line.textContent = words;
  }

  // Apply by Ctrl Enter, from wherever one is, also while typing; cancel by Esc, unless something else is open or being typed.
  document.addEventListener("keydown", function (event) {
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      const apply = $("[data-apply]");
      if (apply && !apply.disabled) {
        event.preventDefault();
        apply.form.requestSubmit(apply);
      }
    } else if (event.key === "Escape" && !event.defaultPrevented) {
      const cancel = $("[data-cancel]");
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (cancel && !typing && !document.querySelector("details.menu[open]")) cancel.click();
    }
  }, true);

  window.palimpsest.keys({
    P() {
      const at = document.activeElement && document.activeElement.closest("[data-loss]");
      const pin = at && $("[data-pin]", at);
      if (pin) pin.click();
    },
  });

  // One Apply only, however often it is pressed.
  document.addEventListener("submit", function (event) {
    if (event.target.id !== "apply" || !event.submitter || !["apply", "draft"].includes(event.submitter.value)) return;
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "yes";
  });
  window.addEventListener("pageshow", function () {
    const form = $("#apply");
    if (form) delete form.dataset.sent;
  });

  // A section that was edited goes along with every preview, by POST: words are too long for an address, and must not get lost.
  function edited() {
    return [...document.querySelectorAll("[data-section]")].some((field) => field.value !== field.defaultValue) || Boolean($("#apply[data-edited]"));
  }
  document.addEventListener("htmx:configRequest", function (event) {
    const detail = event.detail;
    if (detail.elt.id !== "choose" || !edited()) return;
    detail.verb = "post";
    detail.useUrlParams = false;
    detail.headers["Content-Type"] = "application/x-www-form-urlencoded";
    detail.parameters.do = "preview";
    const draft = $("#apply [name=draft]");
    if (draft) detail.parameters.draft = draft.value;
    document.querySelectorAll("[data-section]").forEach((field) => { detail.parameters[field.name] = field.value; });
  });
  document.addEventListener("change", function (event) {
    if (event.target.matches("[data-section]")) window.htmx.trigger($("#choose"), "input");
  });

  // While a new preview is on its way there is nothing to apply: what the bar holds is no longer what the fields say.
  function hold(event) {
    const apply = $("[data-apply]");
    if (apply && event.target.closest && event.target.closest("#choose")) {
      apply.dataset.held = String(apply.disabled);
      apply.disabled = true;
    }
  }
  document.addEventListener("input", hold);
  function release() {
    const apply = $("[data-apply][data-held]");
    if (apply) apply.disabled = apply.dataset.held === "true";
  }
  document.addEventListener("htmx:sendError", release);
  document.addEventListener("htmx:responseError", release);

  // What came anew looks as it was left: the same sections are open, the focus is among the losses again, at the same place.
  let lossAt = -1;
  let open = [];
  document.addEventListener("htmx:beforeRequest", function (event) {
    if (event.detail.elt.id !== "choose") return;
    const at = document.activeElement && document.activeElement.closest("[data-loss]");
    lossAt = at ? [...document.querySelectorAll("[data-loss]")].indexOf(at) : -1;
  });
  document.addEventListener("htmx:beforeSwap", function (event) {
    if (event.detail.target && event.detail.target.id === "preview") {
      open = [...document.querySelectorAll(".sections details")].map((section) => section.open);
    }
  });
  document.addEventListener("htmx:afterSwap", function (event) {
    if (!event.detail.target || event.detail.target.id !== "preview" || !open.length) return;
    document.querySelectorAll(".sections details").forEach((section, n) => { section.open = Boolean(open[n]); });
  });
  document.addEventListener("htmx:afterSettle", function (event) {
    const preview = event.detail.target && event.detail.target.id === "preview" ? $("#preview") : null;
    if (preview) say(preview.dataset.said);
    if (preview && lossAt >= 0) {
      const losses = document.querySelectorAll("[data-loss]");
      const next = losses[Math.min(lossAt, losses.length - 1)] || $("#part-retention h2");
      if (next) next.focus({ preventScroll: true });
      lossAt = -1;
    }
  });

  // A run: each step is announced once; the log stays at its end; the heading gets the focus when the outcome comes.
  let step = "";
  function follow() {
    const progress = $("#progress, #drafting");
    if (progress && progress.dataset.step !== step) {
      step = progress.dataset.step;
      say(step);
    }
    const log = $("#progress .log, #drafting .log");
    if (log) log.scrollTop = log.scrollHeight;
    const outcome = $("#run [data-focus]");
    if (outcome && !progress) say($("#run .outcome p").textContent.trim());
  }
  document.addEventListener("DOMContentLoaded", follow);
  document.addEventListener("htmx:afterSettle", follow);
})();
