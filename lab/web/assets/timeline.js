// A time line: a plot for each CPU of each buffer and for each chosen task, and the list of
// events below. The source reads the file piece by piece, and each piece is drawn when it has
// come. It is asked for the columns of each event once; what is drawn is found in them.
import { el, visible } from "./program.js";

const rowHeight = 34;
const lines = 16; // of the list
const left = 96; // where the plots begin

// mount shows what the source has: more() reads on and columns(from) gives what is new, until
// info says that all is done; rows(from, n), search(text, from, back, filter), filter({buffers,
// cpus, pids, kinds, text}, from, to) and periods(pid) are asked when they are needed. It
// returns when the first events are drawn, with what reads the others.
export async function mount(element, source, info) {
  const line = new Timeline(element, source, info, await source.columns(0));
  return () => line.readOn();
}

// A List grows at its end. What it holds is in places, which is as long as there are any.
class List {
  constructor(type = Uint32Array) {
    this.memory = new type(1024);
    this.clear();
  }

  clear() {
    this.n = 0;
    this.places = this.memory.subarray(0, 0);
  }

  room(n) {
    if (n <= this.memory.length) return;
    const more = new this.memory.constructor(Math.max(n, 2 * this.memory.length));
    more.set(this.memory.subarray(0, this.n));
    this.memory = more;
  }

  push(value) {
    if (this.n === this.memory.length) this.room(this.n + 1);
    this.memory[this.n++] = value;
  }

  append(values) {
    this.room(this.n + values.length);
    this.memory.set(values, this.n);
    this.n += values.length;
  }

  end() {
    this.places = this.memory.subarray(0, this.n);
  }
}

// lower is the first place in a sorted list whose value is not below.
function lower(list, value, at = (i) => list[i], from = 0) {
  let to = list.length;
  while (from < to) {
    const mid = (from + to) >>> 1;
    if (at(mid) < value) from = mid + 1;
    else to = mid;
  }
  return from;
}

let counter = false; // the clock of the file counts something other than ns

let begin = 0n; // the time of the first event
let absolute = false; // times are those of the clock, not since the first event

// seconds is a time in ns since the first event, as it is shown. Times of the clock are
// rounded to µs as trace-cmd report does it.
function seconds(ns) {
  if (!absolute) return counter ? ns.toFixed(0) : `${(ns / 1e9).toFixed(6)} s`;
  const at = begin + BigInt(Math.round(ns));
  if (counter) return String(at);
  const us = (at + 500n) / 1000n;
  return `${us / 1000000n}.${String(us % 1000000n).padStart(6, "0")}`;
}

function span(ns) {
  if (counter) return ns.toFixed(0);
  const a = Math.abs(ns);
  if (a < 1e3) return `${ns.toFixed(0)} ns`;
  if (a < 1e6) return `${(ns / 1e3).toFixed(3)} µs`;
  if (a < 1e9) return `${(ns / 1e6).toFixed(3)} ms`;
  return `${(ns / 1e9).toFixed(6)} s`;
}

// hue gives each task a colour of its own, which stays when others come and go.
function hue(pid) {
  return (pid * 137.508) % 360;
}

// barColor is the colour of a task's events, kept because each column of a plot asks for one.
const colors = new Map();
function barColor(pid, dark) {
  const key = dark ? -pid - 1 : pid;
  let c = colors.get(key);
  if (!c) colors.set(key, c = `hsl(${hue(pid)} 65% ${dark ? 65 : 38}%)`);
  return c;
}

// after is lower for a place that is mostly near: it goes from a place in growing steps first.
function after(time, list, value, from) {
  let by = 1;
  let at = from;
  while (at < list.length && time[list[at]] < value) {
    from = at + 1;
    at += by;
    by *= 2;
  }
  let to = Math.min(at, list.length);
  while (from < to) {
    const mid = (from + to) >>> 1;
    if (time[list[mid]] < value) from = mid + 1;
    else to = mid;
  }
  return from;
}

// sifted is how many events a filter looks at before others can ask the source something.
const sifted = 200000;

class Timeline {
  constructor(element, source, info, bytes) {
    this.source = source;
    counter = info.counter;
    begin = BigInt(info.begin);
    absolute = false;
    this.columns = { time: new List(Float64Array), pid: new List(Int32Array), cpu: new List(Uint16Array), kind: new List(Uint16Array), buffer: new List(Uint16Array) };
    this.n = 0;
    this.length = 1;
    this.from = 0;
    this.to = this.length;
    this.spec = {}; // what the filter keeps
    this.kept = null; // the events that the filter keeps; null: all
    this.selected = 0;
    this.top = 0;
    this.marks = { A: null, B: null };
    this.cpus = []; // a plot for each CPU of each buffer: {name, cpu, buffer, events}
    this.plotOf = new Map(); // buffer and CPU → plot
    this.tasks = []; // {pid, name, events, periods}
    this.several = info.buffers.filter((b) => b.shown).length > 1;
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => this.draw());
    this.info = info;
    this.build(element);
    this.take(info, bytes);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.select(0);
  }

  // readOn reads the rest of the file.
  async readOn() {
    while (!this.info.done) {
      const info = await this.source.more();
      this.take(info, await this.source.columns(this.n));
    }
    await Promise.all(this.tasks.map(async (t) => { t.periods = await this.source.periods(t.pid); }));
    this.draw();
  }

  // take adds the events that were read last. Who looks at all of them goes on to do so.
  take(info, bytes) {
    const from = this.n;
    const m = info.events - from;
    const { time, pid, cpu, kind, buffer } = this.columns;
    time.append(new Float64Array(bytes, 0, m));
    pid.append(new Int32Array(bytes, 8 * m, m));
    cpu.append(new Uint16Array(bytes, 12 * m, m));
    kind.append(new Uint16Array(bytes, 14 * m, m));
    buffer.append(new Uint16Array(bytes, 16 * m, m));
    for (const [name, c] of Object.entries(this.columns)) {
      c.end();
      this[name] = c.places;
    }
    this.n = info.events;
    this.info = info;
    const all = this.from === 0 && this.to === this.length;
    this.length = Math.max(this.time[this.n - 1], 1);
    if (all) this.to = this.length;
    if (this.kept) this.sift().catch((err) => { this.said.textContent = visible(err.message); });
    else this.index(from, this.n, (k) => k);
    this.choices();
    this.grown();
  }

  // grown shows that there are more events than before. The list stays as it is, and with it
  // the place of the keyboard, unless it had room for more.
  grown() {
    this.slider.max = Math.max(this.count - 1, 0);
    if (this.body.children.length < Math.min(lines, this.count - this.top)) this.list();
    this.draw();
  }

  // index adds events to the plots that they belong to: those that at gives for the numbers
  // between two.
  index(from, to, at) {
    const tasks = new Map(this.tasks.map((t) => [t.pid, t.events]));
    const known = this.cpus.length;
    for (let k = from; k < to; k++) {
      const i = at(k);
      const key = this.buffer[i] * 65536 + this.cpu[i];
      let plot = this.plotOf.get(key);
      if (!plot) {
        const name = this.several ? visible(this.info.buffers[this.buffer[i]].name) : "";
        plot = { name: `CPU ${this.cpu[i]} ${name}`, cpu: this.cpu[i], buffer: this.buffer[i], events: new List() };
        this.plotOf.set(key, plot);
        this.cpus.push(plot);
      }
      plot.events.push(i);
      if (tasks.size) tasks.get(this.pid[i])?.push(i);
    }
    if (this.cpus.length > known) this.cpus.sort((a, b) => a.buffer - b.buffer || a.cpu - b.cpu);
    for (const p of [...this.cpus, ...this.tasks]) p.events.end();
  }

  // anew empties the plots, for another filter.
  anew() {
    for (const p of [...this.cpus, ...this.tasks]) p.events.clear();
  }

  // sift asks which of the events that have come meanwhile the filter keeps.
  async sift() {
    if (this.sifting) return;
    this.sifting = true;
    try {
      while (this.kept && this.seen < this.n) {
        const { spec, kept } = this;
        const to = Math.min(this.n, this.seen + sifted);
        const more = new Uint32Array(await this.source.filter(spec, this.seen, to));
        if (spec !== this.spec) continue; // somebody has chosen another one meanwhile
        this.seen = to;
        kept.append(more);
        kept.end();
        this.index(0, more.length, (k) => more[k]);
        this.grown();
      }
    } finally {
      this.sifting = false;
    }
  }

  build(element) {
    const button = (text, f, label) => el("button", { type: "button", onclick: f, "aria-label": label ?? text }, text);
    this.canvas = el("canvas", { class: "plots", tabindex: "0", role: "img", "aria-label": "Plots of CPUs and tasks. Arrow keys move, plus and minus zoom, Home and End go to the ends." });
    this.said = el("p", { role: "status" });
    this.markers = el("p", { class: "marks", "aria-live": "polite" });
    this.body = el("tbody");
    this.slider = el("input", { type: "range", min: 0, "aria-label": "Where the list begins", oninput: () => { this.top = Number(this.slider.value); this.list(); } });
    const clock = this.info.clock ? `of the clock ${visible(this.info.clock)}` : "as trace-cmd report prints them";
    this.times = el("select", { id: "tl-times", onchange: () => this.timesOf(this.times.value === "clock") },
      el("option", { value: "first" }, "since the first event"), el("option", { value: "clock" }, clock));
    this.head = el("th", { scope: "col" }, "Since the first");
    this.text = el("input", { type: "search", id: "tl-text", spellcheck: "false", onkeydown: (e) => { if (e.key === "Enter") this.search(e.shiftKey); } });
    const choose = (id) => el("select", { id, multiple: true, size: 4 });
    this.bufferBox = choose("tl-buffers");
    this.cpuBox = choose("tl-cpus");
    this.pidBox = choose("tl-tasks");
    this.kindBox = choose("tl-kinds");
    this.summary = el("p");
    const labelled = (id, text, box) => el("div", {}, el("label", { for: id }, text), box);
    element.replaceChildren(el("div", { class: "timeline" },
      this.summary,
      el("div", { class: "bar" }, button("+", () => this.zoom(0.5), "Zoom in"), button("−", () => this.zoom(2), "Zoom out"), button("All", () => this.view(0, this.length)), button("To the event", () => this.toEvent()),
        button("Mark A", () => this.mark("A")), button("Mark B", () => this.mark("B")), button("A to B", () => this.between()),
        el("label", { for: "tl-times" }, "Times "), this.times),
      this.canvas, this.markers,
      el("div", { class: "bar" }, el("label", { for: "tl-text" }, "Search "), this.text, button("Next", () => this.search(false)), button("Previous", () => this.search(true))),
      this.said,
      el("div", { class: "list" }, el("table", {}, el("thead", {}, el("tr", {}, this.head, ...["CPU", ...(this.several ? ["Buffer"] : []), "Task", "Event", "Info"].map((t) => el("th", { scope: "col" }, t)))), this.body)), this.slider,
      el("details", {}, el("summary", {}, "Filters, and plots of tasks"),
        el("div", { class: "bar filters" }, this.several ? labelled("tl-buffers", "Buffers", this.bufferBox) : null, labelled("tl-cpus", "CPUs", this.cpuBox), labelled("tl-tasks", "Tasks", this.pidBox), labelled("tl-kinds", "Events", this.kindBox)),
        el("div", { class: "bar" }, button("Keep only what is chosen", () => this.filter(false)), button("… and holds the text of the search", () => this.filter(true)), button("Keep all", () => this.filter(null)),
          button("Plot the chosen tasks", () => this.plot([...this.pidBox.selectedOptions].map((o) => Number(o.value))))))));
    this.canvas.addEventListener("wheel", (e) => {
      e.preventDefault();
      if (e.shiftKey) this.move(e.deltaY > 0 ? 0.2 : -0.2);
      else this.zoom(e.deltaY > 0 ? 1.25 : 0.8, this.at(e.offsetX));
    }, { passive: false });
    let drag = null;
    this.canvas.addEventListener("pointerdown", (e) => { drag = e.offsetX; this.canvas.setPointerCapture(e.pointerId); });
    this.canvas.addEventListener("pointermove", (e) => { if (drag !== null) { this.drag = [drag, e.offsetX]; this.draw(); } });
    this.canvas.addEventListener("pointercancel", () => { drag = this.drag = null; this.draw(); });
    this.canvas.addEventListener("pointerup", (e) => {
      const from = drag;
      drag = this.drag = null;
      if (from === null) return; // it began elsewhere
      if (Math.abs(e.offsetX - from) > 5) this.view(this.at(Math.min(from, e.offsetX)), this.at(Math.max(from, e.offsetX)));
      else this.pick(e.offsetX, e.offsetY);
    });
    this.canvas.addEventListener("dblclick", () => this.toEvent());
    this.canvas.addEventListener("keydown", (e) => {
      const keys = { ArrowLeft: () => this.move(-0.1), ArrowRight: () => this.move(0.1), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
        Home: () => this.view(0, this.to - this.from), End: () => this.view(this.length - (this.to - this.from), this.length),
        a: () => this.mark("A"), b: () => this.mark("B"), n: () => this.step(1), p: () => this.step(-1), Enter: () => this.toEvent() };
      if (!keys[e.key] || e.ctrlKey || e.metaKey) return;
      e.preventDefault();
      keys[e.key]();
    });
    this.body.addEventListener("keydown", (e) => {
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: lines, PageUp: -lines }[e.key];
      if (by === undefined) return;
      e.preventDefault();
      this.step(by, true);
    });
    this.body.addEventListener("wheel", (e) => { e.preventDefault(); this.top = this.bound(this.top + (e.deltaY > 0 ? 3 : -3)); this.list(); }, { passive: false });
  }

  // choices offers what there is to filter by, and says how much that is. What is chosen stays.
  choices() {
    const { info } = this;
    const shown = info.buffers.filter((b) => b.shown);
    const count = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
    this.summary.textContent = [`${count(this.n, "event")} in ${span(this.length)} on ${count(info.cpus.length, "CPU")}, ${count(info.tasks.length, "task")}${this.several ? `, in ${shown.length} buffers: ${shown.map((b) => `${visible(b.name || "the top buffer")} ${b.events.toLocaleString("en")}`).join(", ")}` : ""}.`,
      info.done ? "" : "The file is still being read.", visible(info.notes.map((t) => t + (t.endsWith(".") ? "" : ".")).join(" "))].filter(Boolean).join(" ");
    const offer = (box, rows) => {
      if (box === document.activeElement && !info.done) return; // somebody is choosing
      const chosen = new Set([...box.selectedOptions].map((o) => o.value));
      box.replaceChildren(...rows.map(([value, text]) => el("option", { value, selected: chosen.has(String(value)) }, visible(text))));
    };
    offer(this.bufferBox, info.buffers.map((b, i) => [i, `${b.name || "the top buffer"} (${b.events})`]).filter(([i]) => info.buffers[i].shown));
    offer(this.cpuBox, info.cpus.map((c) => [c, `CPU ${c}`]));
    offer(this.pidBox, info.tasks.slice(0, 2000).map((t) => [t.pid, `${t.comm}-${t.pid} (${t.events})`]));
    offer(this.kindBox, info.kinds.map((k, i) => [i, `${k.name} (${k.events})`]));
  }

  get count() { return this.kept ? this.kept.n : this.n; }
  event(k) { return this.kept ? this.kept.places[k] : k; }
  // row is the place in the list of an event, or of the first one that is kept behind it.
  row(i) { return this.kept ? lower(this.kept.places, i) : i; }
  bound(k) { return Math.min(Math.max(k, 0), Math.max(this.count - 1, 0)); }
  get width() { return Math.max(this.canvas.clientWidth - left - 8, 50); }
  at(x) { return this.from + (x - left) / this.width * (this.to - this.from); }
  x(time) { return left + (time - this.from) / (this.to - this.from) * this.width; }

  view(from, to) {
    const wide = Math.min(Math.max(to - from, 10), this.length);
    this.from = Math.min(Math.max(from, 0), this.length - wide);
    this.to = this.from + wide;
    this.draw();
  }

  zoom(by, around = (this.from + this.to) / 2) {
    this.view(around - (around - this.from) * by, around + (this.to - around) * by);
  }

  move(by) {
    const step = (this.to - this.from) * by;
    this.view(this.from + step, this.to + step);
  }

  toEvent() {
    const around = this.time[this.selected];
    const wide = Math.min((this.to - this.from) / 10, 1e6);
    this.view(around - wide / 2, around + wide / 2);
  }

  select(i, focus = false) {
    this.selected = i;
    const k = this.row(i);
    if (k < this.top || k >= this.top + lines) this.top = this.bound(k - (lines >> 1));
    if (this.time[i] < this.from || this.time[i] > this.to) {
      const wide = this.to - this.from;
      this.view(this.time[i] - wide / 2, this.time[i] + wide / 2);
    }
    this.list(focus);
    this.draw();
  }

  step(by, focus = false) {
    if (this.count) this.select(this.event(this.bound(this.row(this.selected) + by)), focus);
  }

  timesOf(clock) {
    absolute = clock;
    this.head.textContent = clock ? "Time" : "Since the first";
    this.tell();
    this.list();
    this.draw();
  }

  mark(name) {
    this.marks[name] = this.time[this.selected];
    this.tell();
    this.draw();
  }

  // tell says where the markers are.
  tell() {
    const { A, B } = this.marks;
    this.markers.textContent = [A !== null ? `A at ${seconds(A)}` : "", B !== null ? `B at ${seconds(B)}` : "", A !== null && B !== null ? `from A to B ${span(B - A)}` : ""].filter(Boolean).join(", ");
  }

  between() {
    const { A, B } = this.marks;
    if (A !== null && B !== null && A !== B) this.view(Math.min(A, B), Math.max(A, B));
  }

  // pick selects the event of the plot under the pointer that is nearest in time.
  pick(x, y) {
    const plot = [...this.cpus, ...this.tasks][Math.floor((y - 20) / rowHeight)];
    const list = plot?.events.places;
    if (!list?.length) return;
    const time = this.at(x);
    let k = lower(list, time, (i) => this.time[list[i]]);
    if (k === list.length || (k > 0 && time - this.time[list[k - 1]] < this.time[list[k]] - time)) k--;
    this.select(list[k]);
  }

  async list(focus = false) {
    this.slider.max = Math.max(this.count - 1, 0);
    this.slider.value = this.top;
    const asked = this.asked = {};
    const wanted = [];
    for (let k = this.top; k < Math.min(this.top + lines, this.count); k++) wanted.push(this.event(k));
    let rows;
    try {
      if (wanted.length && wanted.at(-1) - wanted[0] === wanted.length - 1) rows = await this.source.rows(wanted[0], wanted.length);
      else rows = (await Promise.all(wanted.map((i) => this.source.rows(i, 1)))).flat();
    } catch (err) {
      this.said.textContent = visible(err.message);
      return;
    }
    if (this.asked !== asked) return; // the list has gone on meanwhile
    this.body.replaceChildren(...rows.map((r) => el("tr", { tabindex: r.index === this.selected ? "0" : "-1", "aria-current": r.index === this.selected ? "true" : null, onclick: () => this.select(r.index), ondblclick: () => this.toEvent() },
      el("td", {}, seconds(this.time[r.index])), el("td", {}, r.cpu), this.several ? el("td", {}, visible(r.buffer)) : null, el("td", {}, visible(`${r.task}-${r.pid}`)), el("td", {}, visible(r.event)),
      el("td", {}, r.lost ? el("strong", {}, r.lost > 0 ? `${r.lost} events were lost. ` : "Events were lost. ") : null, visible(r.info)))));
    this.body.closest(".timeline").dataset.first = wanted[0] ?? "";
    if (focus) this.body.querySelector("[aria-current]")?.focus();
  }

  async search(back) {
    const text = this.text.value;
    if (!text) return;
    this.said.textContent = "Searching …";
    try {
      const i = await this.source.search(text, this.selected + (back ? -1 : 1), back, this.spec);
      while (i >= this.n) await new Promise((go) => { setTimeout(go, 20); }); // it was read, and has not come yet
      this.said.textContent = i < 0 ? `There is no “${visible(text)}” ${back ? "before" : "after"} this event.` : "";
      if (i >= 0) this.select(i);
    } catch (err) {
      this.said.textContent = visible(err.message);
    }
  }

  async filter(withText) {
    const numbers = (box) => [...box.selectedOptions].map((o) => Number(o.value));
    this.said.textContent = "Filtering …";
    this.spec = withText === null ? {} : { buffers: numbers(this.bufferBox), cpus: numbers(this.cpuBox), pids: numbers(this.pidBox), kinds: numbers(this.kindBox), text: withText ? this.text.value : "" };
    this.kept = withText === null ? null : new List();
    this.seen = 0;
    this.top = 0;
    this.anew();
    if (!this.kept) this.index(0, this.n, (k) => k);
    const { spec } = this;
    try {
      await this.sift();
      while (this.sifting) await new Promise((go) => { setTimeout(go, 20); });
    } catch (err) {
      this.filter(null);
      this.said.textContent = visible(err.message);
      return;
    }
    if (spec !== this.spec) return; // somebody has chosen another one meanwhile
    this.said.textContent = this.kept ? `${this.count.toLocaleString("en")} of ${this.n.toLocaleString("en")} events are kept.` : "All events are kept.";
    if (this.count) this.select(this.event(this.bound(this.row(this.selected))));
    else { this.list(); this.draw(); }
  }

  async plot(pids) {
    const tasks = await Promise.all(pids.slice(0, 20).map(async (pid) => {
      const t = this.info.tasks.find((x) => x.pid === pid);
      return { pid, name: visible(`${t?.comm ?? ""}-${pid}`), events: new List(), periods: await this.source.periods(pid) };
    }));
    const of = new Map(tasks.map((t) => [t.pid, t.events]));
    for (let k = 0; k < this.count; k++) of.get(this.pid[this.event(k)])?.push(this.event(k));
    for (const t of tasks) t.events.end();
    this.tasks = tasks;
    this.draw();
  }

  // draw draws the plots with the next frame, however often it is called until then.
  draw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.paint();
    });
  }

  paint() {
    performance.mark("draw");
    const plots = [...this.cpus, ...this.tasks];
    const height = 24 + plots.length * rowHeight;
    const scale = devicePixelRatio || 1;
    const wide = Math.round(this.canvas.clientWidth * scale);
    const high = Math.round(height * scale);
    if (this.canvas.width !== wide || this.canvas.height !== high) { // which takes new memory
      this.canvas.style.height = `${height}px`;
      this.canvas.width = wide;
      this.canvas.height = high;
    }
    const c = this.canvas.getContext("2d");
    const style = getComputedStyle(this.canvas);
    const known = {};
    const color = (name) => known[name] ??= style.getPropertyValue(name).trim() || "#888";
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, this.canvas.width, this.canvas.height);
    c.font = "12px monospace";
    c.textBaseline = "middle";
    c.fillStyle = color("--muted");
    c.fillText(seconds(this.from), left, 8);
    const end = seconds(this.to);
    c.fillText(end, left + this.width - c.measureText(end).width, 8);
    plots.forEach((p, r) => this.drawPlot(c, p, 20 + r * rowHeight, color));
    const line = (time, stroke, text) => {
      if (time === null || time < this.from || time > this.to) return;
      const x = Math.round(this.x(time)) + 0.5;
      c.strokeStyle = c.fillStyle = stroke;
      c.beginPath();
      c.moveTo(x, 14);
      c.lineTo(x, height);
      c.stroke();
      if (text) c.fillText(text, Math.min(x + 3, left + this.width - 8), 18);
    };
    line(this.time[this.selected], color("--fg"), "");
    line(this.marks.A, color("--right"), "A");
    line(this.marks.B, color("--wrong"), "B");
    if (this.drag) {
      c.fillStyle = "rgba(128,128,128,.3)";
      c.fillRect(Math.min(...this.drag), 14, Math.abs(this.drag[1] - this.drag[0]), height);
    }
    performance.measure("plots", "draw");
    performance.clearMarks("draw");
  }

  drawPlot(c, p, y, color) {
    c.fillStyle = color("--fg");
    c.save();
    c.beginPath();
    c.rect(0, y, left - 6, rowHeight);
    c.clip();
    c.fillText(p.name, 2, y + rowHeight / 2);
    c.restore();
    c.fillStyle = color("--line");
    c.fillRect(left, y + rowHeight - 5, this.width, 1);
    if (p.periods) {
      const boxes = (list, fill, top, tall) => {
        const first = this.info.first;
        c.strokeStyle = c.fillStyle = fill;
        for (const b of list) {
          const x0 = this.x(b.from - first);
          const x1 = this.x(b.to - first);
          if (x1 < left || x0 > left + this.width) continue;
          const a = Math.max(x0, left);
          const w = Math.max(Math.min(x1, left + this.width) - a, 1);
          if (tall === "filled") c.fillRect(a, top, w, rowHeight - 16);
          else c.strokeRect(a + 0.5, top + 0.5, w, rowHeight - 17);
        }
      };
      boxes(p.periods.ran, `hsl(${hue(p.pid)} 60% ${this.dark.matches ? 45 : 70}%)`, y + 10, "filled");
      boxes(p.periods.woken, color("--right"), y + 10, "hollow");
      boxes(p.periods.preempted, color("--wrong"), y + 10, "hollow");
    }
    for (const i of p.cpu === undefined ? [] : this.info.lost) {
      if (this.cpu[i] !== p.cpu || this.buffer[i] !== p.buffer || this.time[i] < this.from || this.time[i] > this.to) continue;
      const x = this.x(this.time[i]); // a flag where events were lost
      c.fillStyle = color("--wrong");
      c.fillRect(x, y + 2, 1, rowHeight - 7);
      c.fillRect(x, y + 2, 7, 5);
    }
    // One bar for each column of pixels that has events: as high as there are many of them.
    const list = p.events.places;
    const times = (i) => this.time[list[i]];
    let k = lower(list, this.from, times);
    const width = this.width; // which asks for the layout
    for (let x = 0; x < width && k < list.length; x++) {
      const next = after(this.time, list, this.from + (x + 1) / width * (this.to - this.from), k);
      if (next > k) {
        const many = Math.min(1, 0.35 + Math.log2(next - k) / 10);
        const h = (rowHeight - 8) * many;
        c.fillStyle = barColor(this.pid[list[k]], this.dark.matches);
        c.fillRect(left + x, y + rowHeight - 5 - h, 1, h);
        k = next;
      } else {
        // Nothing here: go on at the column of the next event.
        x = Math.max(x, Math.ceil((times(k) - this.from) / (this.to - this.from) * width) - 2);
      }
    }
  }
}
