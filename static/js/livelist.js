// The list of sessions stays true while it is looked at: rows change in their places. A session that was not there yet is announced, and
// comes when it is asked for: nothing moves under the reader.
(function () {
  "use strict";

  const line = document.getElementById("fresh");
  if (!line || !palimpsest.follow) return;

  function look() {
    const address = new URL(location.href);
    address.searchParams.delete("after");
    return fetch(address, { headers: { "HX-Request": "true", "HX-Target": "results" }, credentials: "same-origin" }).then(function (answer) {
      if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
      document.getElementById("offline").hidden = true;
      return answer.text();
    }).then(function (text) {
      const holder = document.createElement("template");
      holder.innerHTML = text;
      let fresh = 0;
      holder.content.querySelectorAll("tr[data-row]").forEach(function (row) {
        const mine = Array.from(document.querySelectorAll("#rows > tr[data-row]")).find((one) => one.dataset.row === row.dataset.row);
        if (!mine) { fresh += 1; return; }
        Array.from(row.cells).forEach(function (cell, n) {
          const now = mine.cells[n];
          if (!now || now.innerHTML === cell.innerHTML || now.contains(document.activeElement)) return;
          now.replaceChildren(...cell.childNodes);
          if (window.htmx) htmx.process(now);
        });
      });
      line.hidden = !fresh;
      if (fresh) line.querySelector("a").textContent = (fresh === 1 ? line.dataset.one : line.dataset.many).replace("0", fresh.toLocaleString(document.documentElement.lang));
      if (fresh) line.querySelector("a").href = address;
    });
  }

  palimpsest.follow(line.dataset.events, look, 15000);
})();
