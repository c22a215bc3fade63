// The questions before a head moves, going to a place by its name, and pins.
(function () {
  "use strict";

  const root = document.getElementById("session");
  if (!root) return;
  const here = root.dataset.session;
  const { chosen } = palimpsest;

  function question(from) {
    const name = typeof from === "string" ? from : from.dataset.ask;
    palimpsest.ask("ask-" + name, function (dialog) {
      if (name === "rollback") {
        const seq = (from.dataset && from.dataset.entry) || (chosen() && chosen().dataset.seq);
        if (seq !== undefined && seq !== null) dialog.querySelector("[name=to]").value = "e" + seq;
      }
      if (name === "restore") {
        dialog.querySelector("[name=version]").value = from.dataset.version;
        dialog.querySelector("[data-says]").textContent = from.dataset.words;
      }
    });
  }

  function sendPin(seq) {
    htmx.ajax("POST", here + "/pin", { source: "#inspector", target: "#inspector", swap: "innerHTML", values: { seq } });
  }

  document.addEventListener("click", function (event) {
    const ask = event.target.closest("[data-ask]");
    if (ask) {
      event.preventDefault();
      if (!ask.disabled) question(ask);
      return;
    }
    const close = event.target.closest("[data-close]");
    if (close) { close.closest("dialog").close(); return; }
    const pin = event.target.closest("[data-pin]");
    if (pin) sendPin(pin.dataset.pin);
  });

  palimpsest.keys({
    G() { question("goto"); },
    u() { question("undo"); },
    U() { question("redo"); },
    b() { question("rollback"); },
    c() { const link = document.getElementById("compact"); if (link) link.click(); },
    P() { const now = chosen(); if (now && now.dataset.seq) sendPin(now.dataset.seq); },
  });
})();
