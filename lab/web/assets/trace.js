// The time line of a trace.dat that is opened in the page.
import { Program, el, visible } from "./program.js";
import { mount } from "./timeline.js";

let ui, program;

export async function show(element) {
  if (!ui) build(element);
}

function build(element) {
  ui = { plot: el("div"), said: el("p", { role: "status" }) };
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
    el("p", { class: "bar" }, el("button", { type: "button", onclick: () => open(null) }, "Or a second of the simulated machine")), ui.said, ui.plot);
}

// open reads a file; null means what the machine in the page records.
async function open(file) {
  program?.end();
  const mine = program = new Program("ftracelab.wasm.gz");
  ui.said.textContent = "The program is being loaded …";
  ui.plot.replaceChildren();
  const from = performance.now();
  try {
    let path = "/dropped/trace.dat";
    if (file) {
      await mine.give(path, file);
    } else {
      path = "/tmp/trace.dat";
      const r = await mine.call("run", "run", "--duration", "1s", "--out", path, "--set", "set_event=sched irq timer syscalls");
      if (r.status !== 0) throw new Error(r.stderr);
    }
    ui.said.textContent = "Reading …";
    const info = await mine.call("timeline", path);
    if (program !== mine) return;
    ui.said.textContent = `${visible(file?.name ?? "trace.dat")}: opened in ${((performance.now() - from) / 1000).toFixed(1)} s.`;
    const source = { info: () => Promise.resolve(info) };
    for (const name of ["columns", "rows", "periods"]) source[name] = (...args) => mine.call(name, ...args);
    source.search = (text, at, back, f) => mine.call("search", text, at, back, JSON.stringify(f));
    source.filter = (f) => mine.call("filter", JSON.stringify(f));
    await mount(ui.plot, source);
  } catch (err) {
    if (program === mine) ui.said.textContent = visible(err.message);
  }
}
