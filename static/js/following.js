// One event stream a page, open while the page is seen: `look` runs at each change. Where no stream comes about, it runs every so often.
// Looks come one after the other, never closer than GAP; what happens meanwhile makes one more.
(function () {
  "use strict";

  const GAP = 600; // ms between two looks
  const AGAIN = 60000; // ms after which a stream that was refused is tried again

  palimpsest.follow = function (address, look, every) {
    let stream = null, polling = null, retry = null, looking = false, more = false;

    function soon() {
      if (looking) { more = true; return; }
      looking = true;
      more = false;
      Promise.resolve(look()).catch(lost).then(() => new Promise((done) => setTimeout(done, GAP))).then(function () {
        looking = false;
        if (more && !document.hidden) soon();
      });
    }

    function lost() { document.dispatchEvent(new CustomEvent("htmx:sendError")); }

    function poll(on) {
      if (!on) { clearInterval(polling); polling = null; }
      else if (!polling) polling = setInterval(soon, every);
    }

    function open() {
      if (stream || document.hidden) return;
      clearTimeout(retry);
      if (!window.EventSource) { poll(true); return; }
      stream = new EventSource(address);
      poll(true); // until it is sure that every change is heard
      stream.addEventListener("following", function () { poll(false); soon(); document.documentElement.dataset.following = ""; });
      stream.addEventListener("changed", soon);
      stream.addEventListener("error", function () {
        delete document.documentElement.dataset.following;
        if (document.hidden) return;
        poll(true);
        if (stream && stream.readyState === EventSource.CLOSED) { stream = null; retry = setTimeout(open, AGAIN); }
      });
    }

    // A browser keeps few connections to a host: a page in the background needs none, and looks when it is seen again.
    function close() {
      if (stream) stream.close();
      stream = null;
      clearTimeout(retry);
      poll(false);
    }

    document.addEventListener("visibilitychange", function () { if (document.hidden) close(); else { open(); soon(); } });
    addEventListener("pagehide", close);
    addEventListener("pageshow", (event) => { if (event.persisted) { open(); soon(); } });
    open();
    return soon;
  };

  // A part of the page in which somebody writes, or has written, is not taken from under their hands.
  palimpsest.inUse = function (element) {
    const active = document.activeElement;
    if (active && element.contains(active) && /^(INPUT|TEXTAREA|SELECT)$/.test(active.tagName)) return true;
    return Array.from(element.querySelectorAll("input, textarea")).some((field) =>
      /^(radio|checkbox)$/.test(field.type) ? field.checked !== field.defaultChecked : field.type !== "hidden" && field.value !== field.defaultValue);
  };
})();
