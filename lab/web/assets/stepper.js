// One step at a time: what package lab draws, with keys, buttons and the address of the page.
import { el, machine, picture, stepper, visible } from "./program.js";

let ui, now, scenarios;
let asText = false;
const wanted = new Map(); // scenario → names of the views that are shown

// ask uses the small program, and the one with the machine for what the small one has not.
function ask(name, place, ...more) {
  const program = place.startsWith("tracefs?") || place === "tracefs" ? machine() : stepper();
  return program.call(name, place, ...more);
}

// views are the names of those that are shown of a scenario; "" before anybody has chosen.
function views(place) {
  return [...(wanted.get(place.split("?")[0]) ?? [])].join(",");
}

export async function show(element, where) {
  if (!ui) build(element);
  if (!scenarios) {
    scenarios = await stepper().call("scenarios");
    scenarios.push({ name: "tracefs", question: "What do trace, trace_pipe, a snapshot, an instance and a trigger do?" });
    ui.scenario.append(...scenarios.map((s) => el("option", { value: s.name }, s.name)));
  }
  await go("step", where || "event?step=0");
}

async function go(name, place, ...more) {
  ui.said.textContent = "";
  ui.busy.hidden = false;
  try {
    draw(await ask(name, place, views(place), ...more));
  } catch (err) {
    ui.said.textContent = visible(err.message);
  }
  ui.busy.hidden = true;
}

function draw(step) {
  const changed = now?.place !== step.place;
  now = step;
  const hash = `#step/${step.place}`;
  if (decodeURI(location.hash) !== hash) history.replaceState(null, "", hash);
  ui.scenario.value = step.scenario;
  ui.question.textContent = scenarios.find((s) => s.name === step.scenario)?.question ?? "";
  ui.slider.max = step.total;
  ui.slider.value = step.step;
  ui.slider.setAttribute("aria-valuetext", `step ${step.step} of ${step.total}`);
  ui.number.textContent = `${step.step} of ${step.total}`;
  ui.what.textContent = visible(`${step.who ? step.who + " " : ""}${step.what}`);
  ui.why.textContent = visible(step.why);
  ui.kernel.textContent = step.kernel ? `Kernel: ${step.kernel}` : "";
  if (ui.kinds.children.length !== step.kinds.length) ui.kinds.replaceChildren(...step.kinds.map((k) => el("option", { value: k })));
  ui.can.replaceChildren(...(step.can.length ? [document.createTextNode("Let come here: ")] : []),
    ...step.can.map((a) => el("button", { type: "button", onclick: () => choose(a.key) }, `${a.name} `, el("kbd", {}, a.key))));
  ui.chosen.textContent = step.choices.length ? `Chosen: ${step.choices.join(", ")}` : "";
  ui.undo.hidden = !step.choices.length;
  ui.line.textContent = `ftracelab step --url '${step.place}'`;
  const names = step.views.map((v) => v.name).filter((n) => n !== "step");
  if (!wanted.has(step.scenario)) wanted.set(step.scenario, new Set(step.views.filter((v) => v.drawn).map((v) => v.name)));
  const want = wanted.get(step.scenario);
  ui.views.replaceChildren(el("legend", {}, "Views"), ...names.map((n) => el("label", {},
    el("input", { type: "checkbox", checked: want.has(n), onchange: (e) => { if (e.target.checked) want.add(n); else want.delete(n); go("step", now.place); } }), ` ${n}`)));
  pictures();
  performance.mark("step");
  if (changed && ui.all.open) list();
}

function pictures() {
  const group = [];
  const want = wanted.get(now.scenario);
  const say = (text) => { ui.about.textContent = text; };
  const chosen = (at) => go("wrote", now.place, ...at.split(":"));
  ui.pictures.replaceChildren(...now.views.filter((v) => v.drawn && want.has(v.name)).map((v) => el("section", { "aria-label": v.name },
    el("h3", {}, v.name),
    asText || !v.svg ? el("pre", { tabindex: "0" }, visible(v.text)) : picture(v, group, say, chosen))));
}

function by(n) {
  const to = Math.min(Math.max(now.step + n, 0), now.total);
  if (to === now.step) {
    ui.said.textContent = n > 0 ? "This is the last step." : "This is the beginning.";
    return;
  }
  go("step", at(to));
}

// at is the place of another step of what is shown.
function at(step) {
  return now.place.replace(/step=\d+/, `step=${step}`);
}

function choices() {
  return /do=([^&]*)/.exec(now.place)?.[1].split(".") ?? [];
}

function place(list, step) {
  return `${now.scenario}?${list.length ? `do=${list.join(".")}&` : ""}step=${step}`;
}

// choose lets something come after this step, and forgets what was chosen for later ones.
function choose(key) {
  if (!now.can.some((a) => a.key === key)) {
    ui.said.textContent = `${key} cannot come after this step.`;
    return;
  }
  go("step", place([...choices().filter((c) => parseInt(c, 10) <= now.step), `${now.step}${key}`], now.step + 1));
}

function undo() {
  const list = choices();
  if (!list.length) return;
  go("step", place(list.slice(0, -1), Math.min(now.step, parseInt(list.at(-1), 10))));
}

async function list() {
  const l = await ask("steps", now.place);
  ui.list.start = l.first;
  ui.list.replaceChildren(...l.lines.map((text, i) => el("li", l.first + i === now.step ? { "aria-current": "step" } : {},
    el("button", { type: "button", class: "plain", onclick: () => go("step", at(l.first + i)) }, visible(text)))));
}

function build(element) {
  ui = {};
  const button = (label, key, f) => el("button", { type: "button", onclick: f, "aria-keyshortcuts": key }, label);
  ui.scenario = el("select", { id: "scenario", onchange: () => go("step", `${ui.scenario.value}?step=0`) });
  ui.slider = el("input", { type: "range", min: 0, id: "step", oninput: () => go("step", at(ui.slider.value)) });
  ui.kind = el("input", { id: "kind", list: "kinds", value: "page-end", size: 24, autocomplete: "off", spellcheck: "false" });
  ui.kinds = el("datalist", { id: "kinds" });
  for (const n of ["question", "what", "why", "kernel", "said", "chosen", "about"]) ui[n] = el("p", { class: n });
  ui.said.setAttribute("role", "alert");
  ui.number = el("output", { for: "step" });
  ui.busy = el("span", { class: "busy", hidden: true }, "…");
  ui.can = el("p", { class: "can" });
  ui.undo = el("button", { type: "button", onclick: undo }, "Take the last one back ", el("kbd", {}, "u"));
  ui.line = el("code", { id: "line" });
  ui.views = el("fieldset", { class: "views" });
  ui.pictures = el("div", { class: "pictures" });
  ui.list = el("ol", { class: "steps" });
  ui.all = el("details", { ontoggle: () => { if (ui.all.open) list(); } }, el("summary", {}, "All steps"), ui.list);
  element.append(
    el("h2", {}, "Step by step"),
    el("div", { class: "bar" }, el("label", { for: "scenario" }, "Scenario "), ui.scenario, ui.question),
    el("div", { class: "bar" },
      button("First", "Home", () => by(-now.step)), button("← Back", "ArrowLeft", () => by(-1)),
      button("Forward →", "ArrowRight", () => by(1)), button("Last", "End", () => by(now.total - now.step)),
      el("label", { for: "step" }, "Step "), ui.slider, ui.number, ui.busy),
    el("div", { class: "bar" }, el("label", { for: "kind" }, "Go to a step of which this holds "), ui.kind, ui.kinds,
      button("before", "", () => go("next", now.place, ui.kind.value, "back")), button("after", "", () => go("next", now.place, ui.kind.value, "")),
      button("Find choices that lead to one", "", () => go("find", now.place, ui.kind.value))),
    el("p", { class: "hint" }, "A kind of step, who makes it (task, softirq, irq, nmi, reader, user, cpu0, cpu1), says WORD, or a number as in overrun >= 3; several with \" and \" between."),
    el("div", { class: "told", "aria-live": "polite" }, ui.what, ui.why, ui.kernel),
    ui.said, ui.can, el("div", { class: "bar" }, ui.chosen, ui.undo),
    el("div", { class: "bar" }, ui.views, button("Pictures or text", "t", () => { asText = !asText; pictures(); })),
    el("div", { "aria-live": "polite" }, ui.about),
    ui.pictures, ui.all,
    el("p", { class: "bar" }, "This step in a terminal: ", ui.line, " ",
      el("button", { type: "button", onclick: () => navigator.clipboard?.writeText(location.href) }, "Copy the address")),
    el("p", { class: "hint" }, "Keys: ← and → step, Home and End, u takes back, t changes between pictures and text, and the letters on the buttons. A byte that is clicked leads to the step that wrote it."));
  addEventListener("keydown", (e) => {
    if (!element.isConnected || !now || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    const keys = { ArrowRight: () => by(1), ArrowLeft: () => by(-1), Home: () => by(-now.step), End: () => by(now.total - now.step), u: undo, t: () => { asText = !asText; pictures(); } };
    const f = keys[e.key] ?? (now.can.some((a) => a.key === e.key) ? () => choose(e.key) : null);
    if (!f) return;
    e.preventDefault();
    f();
  });
}
