// place says where a cell of a flame graph is drawn if the cell focus has the whole width:
// its left edge and its width in percent. It is null if the cell is out of sight.
function place(cell, focus) {
	"use strict";
	var tiny = 0.001;
	var x = 100 * (cell.x - focus.x) / focus.width, width = 100 * cell.width / focus.width;
	if (cell.row <= focus.row) { // only focus itself and its callers are seen
		return x <= tiny && x + width >= 100 - tiny ? { x: 0, width: 100 } : null;
	}
	return x >= -tiny && x + width <= 100 + tiny ? { x: x, width: width } : null;
}

// foundShare is the share of the stacks, in percent, that have at least one found cell. The
// cells are in the order of the page, so those below a cell follow it.
function foundShare(cells) {
	"use strict";
	var share = 0, above = -1;
	cells.forEach(function (cell) {
		if (above >= 0 && cell.row <= above) {
			above = -1;
		}
		if (above < 0 && cell.found) {
			share += cell.width;
			above = cell.row;
		}
	});
	return share;
}

// flame brings one flame graph to life: a click or Enter zooms, arrows move, and what is
// typed is searched.
function flame(box) {
	"use strict";
	var graph = box.querySelector("svg"), search = box.querySelector("input"), whole = box.querySelector("button");
	var out = box.querySelector("output");
	var cells = Array.prototype.map.call(graph.querySelectorAll("svg"), function (at) {
		return {
			at: at, x: parseFloat(at.getAttribute("x")), width: parseFloat(at.getAttribute("width")),
			row: +at.dataset.row, name: at.querySelector("text").textContent, shown: true, found: false
		};
	});
	function zoom(focus) {
		cells.forEach(function (cell) {
			var p = place(cell, focus);
			cell.shown = p !== null;
			cell.at.style.display = p ? "" : "none";
			if (p) {
				cell.at.setAttribute("x", p.x + "%");
				cell.at.setAttribute("width", p.width + "%");
			}
		});
		whole.disabled = focus === cells[0];
	}
	function go(cell) {
		cells.forEach(function (c) { c.at.setAttribute("tabindex", c === cell ? "0" : "-1"); });
		cell.at.focus();
	}
	function keys(n, event) {
		var shown = cells.filter(function (c) { return c.shown; });
		var at = shown.indexOf(cells[n]), to = null, row = cells[n].row;
		if (event.key === "ArrowDown" && at + 1 < shown.length && shown[at + 1].row === row + 1) {
			to = shown[at + 1];
		} else if (event.key === "ArrowUp") {
			to = shown.slice(0, at).reverse().find(function (c) { return c.row < row; });
		} else if (event.key === "ArrowRight") {
			to = shown.slice(at + 1).find(function (c) { return c.row === row; });
		} else if (event.key === "ArrowLeft") {
			to = shown.slice(0, at).reverse().find(function (c) { return c.row === row; });
		} else if (event.key === "Enter" || event.key === " ") {
			zoom(cells[n]);
		} else if (event.key === "Escape") {
			zoom(cells[0]);
		} else {
			return;
		}
		event.preventDefault();
		if (to) {
			go(to);
		}
	}
	graph.setAttribute("role", "tree");
	cells.forEach(function (cell, n) {
		cell.at.setAttribute("role", "treeitem");
		cell.at.setAttribute("aria-level", cell.row + 1);
		cell.at.setAttribute("aria-label", cell.at.querySelector("title").textContent);
		cell.at.setAttribute("tabindex", n === 0 ? "0" : "-1");
		cell.at.addEventListener("click", function () { zoom(cell); go(cell); });
		cell.at.addEventListener("keydown", function (event) { keys(n, event); });
	});
	search.addEventListener("input", function () {
		var word = search.value.toLowerCase();
		cells.forEach(function (cell) {
			cell.found = word !== "" && cell.name.toLowerCase().indexOf(word) >= 0;
			cell.at.classList.toggle("found", cell.found);
		});
		graph.classList.toggle("searched", word !== "");
		out.textContent = word === "" ? "" : foundShare(cells).toFixed(1) + " % of the stacks drawn";
	});
	whole.addEventListener("click", function () { zoom(cells[0]); });
	whole.disabled = true;
	box.querySelector(".tools").hidden = false;
}
