// What the stack map would save on a capture that is dropped on the page. The file stays
// on this computer: the program in the page reads it.
import { Program, el, visible } from "./program.js";

let ui, program;

export async function show(element) {
  if (!ui) build(element);
}

function build(element) {
  ui = {};
  ui.file = el("input", { type: "file", id: "file", onchange: () => { if (ui.file.files[0]) estimate(ui.file.files[0]); } });
  ui.said = el("p", { role: "status" });
  ui.stop = el("button", { type: "button", hidden: true, onclick: () => { program?.end(); } }, "Stop");
  ui.text = el("pre", { tabindex: "0", hidden: true, "aria-label": "The estimate as text" });
  ui.frame = el("div", { class: "frame" });
  ui.save = el("p");
  const drop = el("div", { class: "drop" },
    el("label", { for: "file" }, "A capture with stacks: a trace.dat, the text of trace or of perf script, folded stacks, raw pages. Drop it here, or choose it: "), ui.file);
  for (const kind of ["dragover", "dragenter"]) drop.addEventListener(kind, (e) => { e.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (e) => {
    e.preventDefault();
    drop.classList.remove("over");
    if (e.dataTransfer.files[0]) estimate(e.dataTransfer.files[0]);
  });
  element.append(el("h2", {}, "What would the stack map save on your capture?"), drop,
    el("p", { class: "bar" }, el("button", { type: "button", onclick: () => estimate(null) }, "Or take the capture that comes with ftracelab"), ui.stop), ui.said, ui.text, ui.save, ui.frame);
}

// estimate takes a file; null stands for the capture that the program holds.
async function estimate(file) {
  program?.end();
  const mine = program = new Program("estimate.wasm.gz", (kind, text) => { if (kind === "progress") ui.said.textContent = visible(text); });
  ui.said.textContent = "The program is being loaded …";
  ui.stop.hidden = false;
  ui.text.hidden = true;
  ui.frame.replaceChildren();
  ui.save.replaceChildren();
  const from = performance.now();
  try {
    const name = file ? file.name.replaceAll("/", "_") || "capture" : "";
    if (file) await mine.give(`/dropped/${name}`, file);
    ui.said.textContent = file ? `Reading ${visible(file.name)} …` : "Reading …";
    const { text, page } = await mine.call("estimate", name);
    if (program !== mine) return;
    ui.said.textContent = `Done in ${((performance.now() - from) / 1000).toFixed(1)} s.`;
    ui.text.textContent = visible(text);
    ui.text.hidden = false;
    frame(page);
  } catch (err) {
    if (program === mine) ui.said.textContent = visible(err.message);
  }
  if (program === mine) ui.stop.hidden = true;
}

// frame shows the page of an estimate in a frame that can reach neither this page nor any
// address.
function frame(text) {
  const inside = el("iframe", { sandbox: "allow-scripts", src: "frame.html", title: "The estimate with its charts" });
  addEventListener("message", function ready(e) {
    if (e.source !== inside.contentWindow || e.data !== "ready") return;
    removeEventListener("message", ready);
    inside.contentWindow.postMessage(text, "*");
  });
  ui.frame.replaceChildren(inside);
  const url = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  ui.save.replaceChildren(el("a", { href: url, download: "estimate.html" }, "Save this page as a file"));
}
