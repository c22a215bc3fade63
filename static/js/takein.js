// Taking files in: each file is sent by itself, one after the other, so that each has its own progress, outcome and reason.
(function () {
  "use strict";

  const form = document.getElementById("take-in");
  if (!form) return;
  const drop = document.getElementById("drop");
  const rows = document.getElementById("rows");
  const sum = document.getElementById("sum");
  const words = JSON.parse(form.dataset.words);
  const suffixes = form.dataset.suffixes.split(" ");
  const says = form.dataset;
  const SIGNAL = ["failed", "refused"];
  const NEWS = ["added", "grown", "rewritten"];
  const waiting = [];
  const counts = new Map();
  let leftOut = 0;
  let busy = false;

  function thousands(n) { return n.toLocaleString("en-US"); }

  function size(n) {
    if (n < 100000) return thousands(n) + " bytes";
    for (const [unit, scale] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) if (n >= scale) return (n / scale).toFixed(1) + " " + unit;
    return String(n);
  }

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function add(file, name) {
    const row = element("tr");
    const cells = ["file", "", "", "num", "num"].map((one) => row.appendChild(element("td", one)));
    cells[0].append(element("code", "", name));
    cells[1].append(element("span", "ink-3", says.waits));
    cells[4].textContent = size(file.size);
    rows.append(row);
    document.getElementById("sent").hidden = false;
    waiting.push({ file, name, cells });
  }

  function takeAll(found) {
    for (const { file, name, chosen } of found) {
      // A folder holds much that is no session; a file that was named is sent whatever it is called.
      if (chosen || suffixes.some((suffix) => name.endsWith(suffix))) add(file, name);
      else leftOut += 1;
    }
    tell();
    next();
  }

  function tell() {
    const parts = Array.from(counts, ([outcome, n]) => (words[outcome] || outcome) + " " + thousands(n));
    if (waiting.length || busy) parts.push(thousands(waiting.length + (busy ? 1 : 0)) + " " + says.waits);
    if (leftOut) parts.push(thousands(leftOut) + " " + says.leftOut);
    sum.textContent = parts.join(", ");
  }

  function next() {
    if (busy || !waiting.length) return;
    busy = true;
    const one = waiting.shift();
    send(one).then(function (told) {
      busy = false;
      counts.set(told.outcome, (counts.get(told.outcome) || 0) + 1);
      show(one, told);
      tell();
      next();
    });
  }

  function send(one) {
    const bar = element("progress");
    const state = element("small", "ink-3", says.sending);
    bar.max = 1;
    bar.value = 0;
    bar.setAttribute("aria-label", one.name);
    one.cells[1].replaceChildren(bar, state);
    const query = new URLSearchParams({ name: one.name });
    if (document.getElementById("rewrite").checked) query.set("rewrite", "true");
    return new Promise(function (done) {
      const request = new XMLHttpRequest();
      request.open("POST", says.to + "?" + query);
      request.setRequestHeader("X-CSRFToken", form.elements.csrfmiddlewaretoken.value);
      request.setRequestHeader("Content-Type", "application/octet-stream");
      request.upload.addEventListener("progress", function (event) {
        if (event.lengthComputable) bar.value = event.loaded / event.total;
      });
      request.upload.addEventListener("load", function () {
        bar.removeAttribute("value");
        state.textContent = says.reading;
      });
      request.addEventListener("load", () => done(told(request)));
      request.addEventListener("error", () => done({ outcome: "failed", reason: says.lost, again: true }));
      request.addEventListener("abort", () => done({ outcome: "failed", reason: says.lost, again: true }));
      request.send(one.file);
    });
  }

  function told(request) {
    let answer = null;
    try {
      answer = JSON.parse(request.responseText);
    } catch (notJson) {
      answer = null;
    }
    if (answer && answer.outcome) return answer;
    const error = (answer && answer.error) || {};
    const refused = request.status === 409 || request.status === 413;
    return { outcome: refused ? "refused" : "failed", reason: error.message || String(request.status), session: error.session, again: request.status >= 500 };
  }

  function show(one, told) {
    const [file, outcome, session, entries, weight] = one.cells;
    const tone = SIGNAL.includes(told.outcome) ? " signal" : NEWS.includes(told.outcome) ? " accent" : "";
    outcome.replaceChildren(element("span", "tag" + tone, words[told.outcome] || told.outcome));
    file.querySelectorAll(".reason").forEach((old) => old.remove());
    const reasons = [told.reason, ...(told.problems || [])].filter(Boolean);
    if (reasons.length) file.append(element("small", "reason", reasons.join("; ")));
    session.replaceChildren();
    if (told.session) {
      const link = element("a", "", told.session.slice(0, 8));
      link.href = says.session.replace("SESSION", told.session);
      session.append(link, " ", element("span", "ink-3", told.agent || ""));
    }
    if (told.session && told.entries !== undefined) {
      entries.dataset.label = says.entries;
      entries.textContent = thousands(told.entries);
      if (told.added && told.added !== told.entries) entries.append(" ", element("small", "ink-3", thousands(told.added) + " " + says.new));
    }
    weight.dataset.label = "";
    if (told.again) {
      const again = element("button", "button small", says.again);
      again.type = "button";
      again.addEventListener("click", function () {
        counts.set(told.outcome, counts.get(told.outcome) - 1);
        if (!counts.get(told.outcome)) counts.delete(told.outcome);
        waiting.push(one);
        next();
        tell();
      });
      outcome.append(" ", again);
    }
  }

  // Files and folders that were dropped. A folder gives its entries a hundred at a time.
  async function entriesOf(entry, path) {
    if (entry.isFile) {
      const file = await new Promise((done) => entry.file(done, () => done(null)));
      return file ? [{ file, name: path + entry.name, chosen: !path }] : [];
    }
    const reader = entry.createReader();
    const found = [];
    for (;;) {
      const some = await new Promise((done) => reader.readEntries(done, () => done([])));
      if (!some.length) break;
      for (const inner of some) found.push(...(await entriesOf(inner, path + entry.name + "/")));
    }
    return found;
  }

  function carriesFiles(event) {
    return Array.from(event.dataTransfer.types).includes("Files");
  }

  // The whole page takes them: a drop beside the field would make the browser open the file.
  document.addEventListener("dragover", function (event) {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
    drop.classList.add("over");
  });
  document.addEventListener("dragleave", function (event) {
    if (!event.relatedTarget) drop.classList.remove("over");
  });
  document.addEventListener("drop", async function (event) {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    drop.classList.remove("over");
    const entries = Array.from(event.dataTransfer.items || [], (item) => item.webkitGetAsEntry && item.webkitGetAsEntry());
    const files = Array.from(event.dataTransfer.files);
    if (!entries.some(Boolean)) {
      takeAll(files.map((file) => ({ file, name: file.name, chosen: true })));
      return;
    }
    for (const entry of entries.filter(Boolean)) takeAll(await entriesOf(entry, ""));
  });

  document.getElementById("files").addEventListener("change", function () {
    takeAll(Array.from(this.files, (file) => ({ file, name: file.name, chosen: true })));
    this.value = "";
  });
  const folder = document.getElementById("folder");
  document.getElementById("choose-folder").addEventListener("click", () => folder.click());
  folder.addEventListener("change", function () {
    takeAll(Array.from(this.files, (file) => ({ file, name: file.webkitRelativePath || file.name, chosen: false })));
    this.value = "";
  });
  form.addEventListener("submit", (event) => event.preventDefault());
})();
