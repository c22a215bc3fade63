// Before the first paint: that script runs, and the colour scheme a person chose (without a choice the system's holds).
(function () {
  "use strict";
  document.documentElement.classList.add("script");
  try {
    var scheme = localStorage.getItem("palimpsest.scheme");
    if (scheme) document.documentElement.dataset.scheme = scheme;
  } catch (refused) {
    // Storage may be closed to us; then the system's scheme holds.
  }
})();
