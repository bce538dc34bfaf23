// recompute says what each design makes of buffers of kb KB per CPU and a map of that many
// bits, from the numbers of the page. It is Report.At, for all designs.
function recompute(model, kb, bits) {
	"use strict";
	var rows = [];
	var room = model.subbuf - model.pageHeader;
	var pages = Math.max(2, Math.ceil(kb * 1024 / room));
	model.sizes.forEach(function (size, n) {
		var events = size.pages_per_event > 0 ? (pages - 0.5) / size.pages_per_event : 0;
		var row = {
			design: size.design, exists: size.exists, bits: size.bits,
			events: Math.floor(events),
			seconds: model.rate > 0 && events > 0 ? Math.round(1e6 * events / model.rate) / 1e6 : -1,
			dropsPct: size.drops_pct, map: size.map_bytes,
			memory: size.map_bytes + model.cpus * (pages + 1) * model.subbuf
		};
		var before = n > 0 ? model.sizes[n - 1] : null;
		if (!before || before.design !== size.design || size.bits <= before.bits) {
			rows.push(row);
		} else if (size.bits <= bits) {
			rows[rows.length - 1] = row;
		}
	});
	return rows;
}

// group puts separators between the thousands.
function group(n) {
	"use strict";
	return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

// cells is a row of the table, as the page shows it.
function cells(row) {
	"use strict";
	var s = row.seconds;
	var seconds = s < 0 ? "–" : s >= 1000 ? group(Math.floor(s + 0.5)) : s.toFixed(s >= 100 ? 1 : 3);
	return [
		(row.exists ? "" : "what if: ") + row.design, row.bits > 0 ? String(row.bits) : "–",
		group(row.events), seconds, row.bits > 0 ? row.dropsPct.toFixed(2) + " %" : "–",
		group(Math.floor(row.map / 1024)) + " KiB", group(Math.floor(row.memory / 1024)) + " KiB"
	];
}

// figure prints a number with as many decimals as its size deserves. It is report.Figure.
function figure(v) {
	"use strict";
	v = Math.round(1e4 * v) / 1e4;
	return v === Math.floor(v) || v >= 10000 ? group(Math.floor(v + 0.5)) : v.toFixed(v >= 100 ? 1 : 3);
}

// fleetCells are the rows of the table of a fleet, for the buffer at that stop of the slider
// and a map of that many bits.
function fleetCells(model, buffer, bits) {
	"use strict";
	var kb = model.buffers[buffer];
	return model.sizes.filter(function (size) { return size.bits === 0 || size.bits === bits; }).map(function (size) {
		var mapped = size.bits > 0;
		return [mapped ? "stackmap" : "full-stacks", mapped ? String(size.bits) : "–"].concat(
			size.per_kb.map(function (s) { return figure(kb * s); }), size.per_kb.length ? [] : ["–", "–", "–"],
			mapped ? [group(size.drops), group(size.dropping), group(Math.floor(size.map_bytes / 1024)) + " KiB", group(size.pays[buffer])] : ["–", "–", "–", "–"]
		);
	});
}

// whatIf brings the sliders of one report to life.
function whatIf(box) {
	"use strict";
	var model = JSON.parse(box.querySelector("script").textContent);
	var buffer = box.querySelector("input[name=buffer]");
	var bits = box.querySelector("input[name=bits]");
	function show() {
		var kb = model.buffers[buffer.value];
		var size = bits ? model.bits[bits.value] : 0;
		buffer.setAttribute("aria-valuetext", group(kb) + " KB per CPU");
		var setting = group(kb) + " KB per CPU";
		if (bits) {
			bits.setAttribute("aria-valuetext", "bits=" + size);
			setting += ", bits=" + size;
		}
		box.querySelector("caption").textContent = "With " + setting;
		box.querySelector(".scroll").setAttribute("aria-label", "With " + setting);
		var rows = box.querySelectorAll("tbody tr");
		var now = model.fleet ? fleetCells(model, buffer.value, size) : recompute(model, kb, size).map(cells);
		now.forEach(function (row, r) {
			row.forEach(function (text, c) { rows[r].children[c].textContent = text; });
		});
	}
	[buffer, bits].forEach(function (slider) {
		if (slider) {
			slider.addEventListener("input", show);
		}
	});
	box.querySelector(".tools").hidden = false;
	show();
}
