(function () {
	"use strict";
	var dark = window.matchMedia("(prefers-color-scheme: dark)");
	var drawn = [];
	function draw() {
		drawn.forEach(function (c) { c.dispose(); });
		drawn = [];
		Object.keys(options).forEach(function (id) {
			var chart = echarts.init(document.getElementById(id), dark.matches ? "dark" : null, { renderer: "svg" });
			var option = options[id];
			option.animation = false;
			option.backgroundColor = "transparent";
			chart.setOption(option);
			drawn.push(chart);
		});
	}
	draw();
	dark.addEventListener("change", draw);
	window.addEventListener("resize", function () {
		drawn.forEach(function (c) { c.resize(); });
	});
})();
