// colour reads what getComputedStyle gives: rgb(), rgba() or none.
function colour(text) {
	var n = (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
	return { r: n[0], g: n[1], b: n[2], a: n.length > 3 ? n[3] : 1 };
}

// luminance is the relative luminance of WCAG 2.1.
function luminance(c) {
	var part = [c.r, c.g, c.b].map(function (v) {
		v /= 255;
		return v <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4);
	});
	return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
}

// background is the colour behind an element.
function background(at) {
	for (; at; at = at.parentElement) {
		var c = colour(getComputedStyle(at).backgroundColor);
		if (c.a === 1) {
			return c;
		}
	}
	return { r: 255, g: 255, b: 255, a: 1 };
}

// seen is whether an element has a place on the page.
function seen(at) {
	var box = at.getBoundingClientRect();
	return box.width > 1 && box.height > 1 && !at.closest(".unseen") && at.checkVisibility();
}

// contrasts are the texts of the page with their contrast. Texts in a flame graph lie on
// the colour of their cell. What a terminal says to a screen reader is not seen.
function contrasts() {
	var all = [];
	document.querySelectorAll("body *").forEach(function (at) {
		var own = Array.prototype.some.call(at.childNodes, function (n) { return n.nodeType === 3 && n.textContent.trim() !== ""; });
		if (!own || at.disabled || ["SCRIPT", "STYLE", "title"].indexOf(at.tagName) >= 0 || !seen(at) || at.closest(".xterm-accessibility")) {
			return;
		}
		var style = getComputedStyle(at), svg = at instanceof SVGElement, cell = at.closest(".cell");
		var front = luminance(colour(svg ? style.fill : style.color));
		var back = luminance(cell ? colour(getComputedStyle(cell.querySelector("rect")).fill) : background(at));
		all.push({ Text: at.textContent, Ratio: (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05) });
	});
	return all;
}

// clipped names tables that are wider than their box and cannot be scrolled there, and
// texts of charts that reach out of their chart.
function clipped() {
	var all = [];
	document.querySelectorAll("table").forEach(function (table) {
		var box = table.parentElement, wide = box.scrollWidth - box.clientWidth;
		if (seen(table) && wide > 0) {
			box.scrollLeft = wide;
			if (Math.abs(box.scrollLeft - wide) > 1) {
				all.push("the table " + box.getAttribute("aria-label"));
			}
			box.scrollLeft = 0;
		}
	});
	document.querySelectorAll(".chart").forEach(function (chart) {
		var frame = chart.getBoundingClientRect();
		chart.querySelectorAll("text").forEach(function (text) {
			var box = text.getBoundingClientRect();
			// Entries of a legend that is turned over page by page lie beside it.
			if (!text.closest("[clip-path]") && box.width > 0 && (box.left < frame.left - 1 || box.right > frame.right + 1)) {
				all.push(text.textContent + " in the chart " + chart.id);
			}
		});
	});
	return all;
}
