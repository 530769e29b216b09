// What the pages do beside htmx: nothing that they need to be read or used.
(function () {
  "use strict";

  function mark(row, on) {
    if (!/^[RVCEX][0-9]+$/.test(row)) return;
    document.querySelectorAll('rect[data-row="' + row + '"]').forEach(function (box) {
      box.classList.toggle("here", on);
    });
  }

  function rowOf(target) {
    var row = target.closest && target.closest(".plan-row");
    return row ? row.id : "";
  }

  // a row and its words on the page light up together
  ["mouseover", "focusin"].forEach(function (name) {
    document.addEventListener(name, function (event) { mark(rowOf(event.target), true); });
  });
  ["mouseout", "focusout"].forEach(function (name) {
    document.addEventListener(name, function (event) { mark(rowOf(event.target), false); });
  });

  // j and k walk through rows, turns and tasks; / goes to the search
  var WALKED = ".plan-row, .turn, table.tasks tbody tr, section.trace";
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    if (event.key === "/") {
      var search = document.querySelector('input[type="search"]');
      if (search) { event.preventDefault(); search.focus(); }
    } else if (event.key === "j" || event.key === "k") {
      var all = Array.from(document.querySelectorAll(WALKED));
      var at = all.findIndex(function (one) { return one === document.activeElement || one.contains(document.activeElement); });
      var next = all[event.key === "j" ? at + 1 : Math.max(0, at - 1)];
      if (!next) return;
      var link = next.querySelector("a");
      (link || next).focus();
      next.scrollIntoView({ block: "nearest" });
    }
  });
})();
