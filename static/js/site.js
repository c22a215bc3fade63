// What htmx and plain HTML cannot do, on every page: menus, dialogs, copying, keys, focus after a swap, the line that says "not live".
(function () {
  "use strict";

  function stored(name, value) {
    try {
      if (value === undefined) return localStorage.getItem("palimpsest." + name);
      if (value) localStorage.setItem("palimpsest." + name, value);
      else localStorage.removeItem("palimpsest." + name);
    } catch (refused) {
      // Without storage a choice lasts as long as the page.
    }
    return value;
  }

  // Keys: pages add theirs with palimpsest.keys({ j: fn }). Off while typing, while a dialog is open, and when switched off.
  const keys = {};
  let pending = null;
  window.palimpsest = {
    stored,
    // Words of the page's language, with what stands in braces filled in.
    say(name, values) {
      const words = document.getElementById("words").dataset[name] || "";
      return words.replace(/\{(\w+)\}/g, (whole, one) => (values && values[one] !== undefined ? values[one] : whole));
    },
    keys(more) { Object.assign(keys, more); },
    // Opens a dialog; `fill` writes into it what is asked about.
    ask(id, fill) {
      const dialog = document.getElementById(id);
      if (!dialog || dialog.open) return;
      // What a dialog says comes into the page when it is first opened: a long page has enough to carry.
      dialog.querySelectorAll("template").forEach((held) => held.replaceWith(held.content));
      if (fill) fill(dialog);
      dialog.showModal();
    },
    // Says something in an element's place for a moment.
    flash(element, words) {
      if (!element || element.dataset.flashed !== undefined) return;
      element.dataset.flashed = element.textContent;
      element.textContent = words;
      setTimeout(() => { element.textContent = element.dataset.flashed; delete element.dataset.flashed; }, 1200);
    },
  };

  function typing(target) {
    return target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) && !/^(radio|checkbox)$/.test(target.type);
  }

  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") {
      document.querySelectorAll("details.menu[open]").forEach((menu) => { menu.open = false; });
      if (typing(event.target)) event.target.blur();
    }
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
    if (typing(event.target) || document.querySelector("dialog[open]") || stored("keys") === "off") return;
    const action = keys[pending ? pending + " " + event.key : event.key] || keys[event.key];
    pending = null;
    if (action) {
      event.preventDefault();
      action(event);
    }
  });

  palimpsest.keys({
    "?"() { palimpsest.ask("help"); },
    "/"() { const field = document.querySelector("[data-key='/']"); if (field) { field.focus(); field.select(); } },
  });

  document.addEventListener("click", function (event) {
    const target = event.target.closest("[data-dialog], [data-closes], [data-opens], [data-scheme-set], [data-copy]");
    document.querySelectorAll("details.menu[open]").forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; });
    if (!target) return;
    if (target.dataset.dialog) {
      event.preventDefault();
      palimpsest.ask(target.dataset.dialog);
    } else if (target.dataset.opens) {
      const open = document.querySelector(target.dataset.opens).classList.toggle("open");
      target.setAttribute("aria-expanded", String(open));
    } else if (target.dataset.schemeSet !== undefined) {
      stored("scheme", target.dataset.schemeSet);
      if (target.dataset.schemeSet) document.documentElement.dataset.scheme = target.dataset.schemeSet;
      else delete document.documentElement.dataset.scheme;
      document.dispatchEvent(new CustomEvent("palimpsest:scheme"));
    } else if (target.dataset.copy !== undefined && navigator.clipboard) {
      const source = target.dataset.copy ? document.querySelector(target.dataset.copy).textContent : target.href || location.href;
      navigator.clipboard.writeText(source).then(() => palimpsest.flash(target, target.dataset.copied || palimpsest.say("copied")));
      event.preventDefault();
    }
  });

  document.addEventListener("DOMContentLoaded", function () {
    const off = document.querySelector("[data-keys-off]");
    if (off) {
      off.checked = stored("keys") === "off";
      off.addEventListener("change", () => stored("keys", off.checked ? "off" : ""));
    }
  });

  // The old fragment stays while the new one is on its way, and says that it is busy.
  document.addEventListener("htmx:beforeRequest", (event) => event.detail.target && event.detail.target.setAttribute("aria-busy", "true"));
  document.addEventListener("htmx:afterRequest", function (event) {
    if (event.detail.target) event.detail.target.removeAttribute("aria-busy");
    const line = document.getElementById("offline");
    if (event.detail.successful) line.hidden = true;
  });
  document.addEventListener("htmx:sendError", function () {
    const line = document.getElementById("offline");
    if (line.hidden) {
      line.textContent = palimpsest.say("notLive", { time: new Date().toTimeString().slice(0, 5) });
      line.hidden = false;
    }
  });

  // After a swap the focus goes to the heading of what came, where the fragment asks for it.
  document.addEventListener("htmx:afterSettle", function (event) {
    const heading = event.detail.elt.querySelector && event.detail.elt.querySelector("[data-focus]");
    if (heading) heading.focus({ preventScroll: true });
  });
})();
