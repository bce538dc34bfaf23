// unpack gives the script of the charts, which the page carries packed, to the browser.
function unpack() {
	"use strict";
	var packed = atob(document.getElementById("echarts").textContent);
	var bytes = Uint8Array.from(packed, function (c) { return c.charCodeAt(0); });
	var stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Response(stream).text().then(function (text) {
		var script = document.createElement("script");
		script.textContent = text;
		document.head.appendChild(script);
	});
}

// charts draws the charts of options, and draws them again when light becomes dark.
function charts() {
	"use strict";
	var dark = window.matchMedia("(prefers-color-scheme: dark)");
	var drawn = [];
	function draw() {
		drawn.forEach(function (c) { c.dispose(); });
		drawn = [];
		document.documentElement.classList.add("drawn");
		Object.keys(options).forEach(function (id) {
			var chart = echarts.init(document.getElementById(id), dark.matches ? "dark" : null, { renderer: "svg" });
			var option = options[id];
			option.animation = false;
			option.backgroundColor = "transparent";
			option.xAxis.forEach(function (axis) { // go-echarts cannot write a lineHeight that is a number
				axis.axisLabel = Object.assign({ lineHeight: 14, hideOverlap: true }, axis.axisLabel);
			});
			chart.setOption(option);
			drawn.push(chart);
		});
	}
	draw();
	dark.addEventListener("change", draw);
	window.addEventListener("resize", function () {
		drawn.forEach(function (c) { c.resize(); });
	});
}
