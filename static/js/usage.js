// The second tab of the inspector: what fills the context. Without this file its link is a page of its own.
(function () {
  "use strict";

  const usage = document.getElementById("usage");
  const inspector = document.getElementById("inspector");
  const tabs = { usage: document.getElementById("usage-tab"), inspector: document.getElementById("inspector-tab") };
  if (!usage || !tabs.usage) return;

  function show(name) {
    usage.hidden = name !== "usage";
    inspector.hidden = name === "usage";
    Object.keys(tabs).forEach((one) => one === name ? tabs[one].setAttribute("aria-current", "true") : tabs[one].removeAttribute("aria-current"));
  }

  tabs.usage.addEventListener("click", () => show("usage"));
  tabs.inspector.addEventListener("click", function (event) {
    event.preventDefault();
    show("inspector");
    inspector.focus({ preventScroll: true });
  });
  // Whoever chooses an entry wants to see it.
  document.addEventListener("htmx:afterSwap", (event) => { if (event.detail.target === inspector) show("inspector"); });
})();
