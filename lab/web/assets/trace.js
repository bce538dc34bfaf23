// The time line of a trace.dat that is opened in the page.
import { Program, el, visible } from "./program.js";
import { mount } from "./timeline.js";
import { unpacked } from "./unpacked.js";

let ui, program;

export async function show(element) {
  if (!ui) build(element);
}

function build(element) {
  ui = { plot: el("div"), said: el("p", { role: "status" }), buffer: el("p", { class: "bar" }) };
  ui.file = el("input", { type: "file", id: "trace", onchange: () => { if (ui.file.files[0]) open(ui.file.files[0]); } });
  const drop = el("div", { class: "drop" }, el("label", { for: "trace" }, "A trace.dat, of trace-cmd or of ftracelab run. Drop it here, or choose it: "), ui.file);
  drop.addEventListener("dragover", (e) => { e.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (e) => {
    e.preventDefault();
    drop.classList.remove("over");
    if (e.dataTransfer.files[0]) open(e.dataTransfer.files[0]);
  });
  element.append(el("h2", {}, "Time line"), drop,
    el("p", { class: "bar" }, el("button", { type: "button", onclick: () => open(null) }, "Or a second of the simulated machine")), ui.said, ui.buffer, ui.plot);
}

// How many events are read before the first picture, and at once later.
const first = 20000;
const piece = 150000;

// open reads a buffer of a file; -1 stands for all of them together. null stands for the
// file of the simulated machine that comes with the page.
async function open(file, buffer = -1) {
  program?.end();
  const mine = program = new Program("timeline.wasm.gz");
  ui.said.textContent = "The program is being loaded …";
  ui.plot.replaceChildren();
  ui.buffer.replaceChildren();
  const from = performance.now();
  try {
    file ??= new File([await (await unpacked("example.dat.gz", "application/octet-stream")).blob()], "a second of the simulated machine");
    const path = "/dropped/trace.dat";
    await mine.give(path, file);
    ui.said.textContent = "Reading …";
    const info = await mine.call("timeline", path, buffer, first);
    if (program !== mine) return;
    const source = { more: () => mine.call("more", piece) };
    for (const name of ["columns", "rows", "periods"]) source[name] = (...args) => mine.call(name, ...args);
    source.search = (text, at, back, f) => mine.call("search", text, at, back, JSON.stringify(f));
    source.filter = (f, from, to) => mine.call("filter", JSON.stringify(f), from, to);
    choice(file, info);
    const readOn = await mount(ui.plot, source, info);
    if (program !== mine) return;
    const seconds = () => `${((performance.now() - from) / 1000).toFixed(1)} s`;
    const shown = `${visible(file.name)}: shown after ${seconds()}`;
    performance.mark("timeline-first");
    ui.said.textContent = `${shown}, and read on …`;
    await readOn();
    if (program !== mine) return;
    performance.mark("timeline-all");
    ui.said.textContent = info.done ? `${shown}.` : `${shown}, and read to the end after ${seconds()}.`;
  } catch (err) {
    if (program === mine) ui.said.textContent = visible(err.message);
  }
}

// choice offers the buffers of a file that has more than one.
function choice(file, info) {
  if (info.buffers.length < 2) return;
  const together = info.buffers.filter((b) => !b.empty).length > 1;
  const select = el("select", { id: "buffer", onchange: () => open(file, select.value) },
    together ? el("option", { value: -1, selected: info.buffer === -1 }, "all buffers together") : null,
    ...info.buffers.map((b, i) => el("option", { value: i, selected: i === info.buffer, disabled: b.empty }, visible(b.name || "the top buffer") + (b.empty ? " (empty)" : ""))));
  ui.buffer.append(el("label", { for: "buffer" }, "The events of "), select);
}
