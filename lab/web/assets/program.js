// Go programs in Web Workers, and small things that all parts of the page need.

// A Program runs in a worker of its own. Its calls answer with values or with errors whose
// message is a sentence. say is told what the program tells of itself (kind, text).
export class Program {
  constructor(file, say = () => {}) {
    this.waiting = new Map();
    this.next = 0;
    this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.worker.onmessage = ({ data }) => {
      if (data.say) {
        say(data.say, data.text);
        return;
      }
      const w = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if (data.error !== undefined) w?.reject(new Error(data.error));
      else w?.resolve(data.bytes ?? data.answer);
    };
    this.worker.onerror = (e) => this.fail(e.message || "the program could not be loaded");
    this.worker.postMessage({ load: file });
  }

  fail(why) {
    this.failed = why;
    for (const w of this.waiting.values()) w.reject(new Error(why));
    this.waiting.clear();
  }

  call(name, ...args) {
    return this.send({ name, args: args.map(String) });
  }

  // give puts a file that was dropped where the program can open it by its path. Only what
  // the program reads of it comes into memory.
  give(path, file) {
    return this.send({ path, file });
  }

  send(message) {
    if (this.failed) return Promise.reject(new Error(this.failed));
    return new Promise((resolve, reject) => {
      const id = ++this.next;
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, ...message });
    });
  }

  end() {
    this.worker.terminate();
    this.fail("the program was stopped");
  }
}

let small, large;

// stepper is the small program, which knows the steps.
export function stepper() {
  if (!small || small.failed) small = new Program("step.wasm.gz");
  return small;
}

// machine is the program that has the simulated machine, for lessons and steps that need one.
export function machine() {
  if (!large || large.failed) large = new Program("machine.wasm.gz");
  return large;
}

// el makes an element. Text is only ever text: what a name holds is never markup.
export function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value === true) e.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) e.setAttribute(name, value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

// visible shows characters that have no picture, or that turn the text around, as escapes.
export function visible(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (c) => "\\u" + c.codePointAt(0).toString(16).padStart(4, "0"));
}

// picture shows a drawing of package lab. It stands in a shadow root, so that its style is
// its own. The cells that show the same thing light up together in all pictures of group,
// under the pointer and under a cursor that the keys , and . move.
export function picture(view, group, say, chosen) {
  const box = el("div", { class: "picture", tabindex: "0", role: "group", "aria-label": `Picture ${view.name}; the keys , and . go from cell to cell` });
  const root = box.attachShadow({ mode: "open" });
  const svg = new DOMParser().parseFromString(view.svg, "image/svg+xml").documentElement;
  svg.setAttribute("width", svg.viewBox.baseVal.width || svg.getAttribute("viewBox").split(" ")[2]);
  const style = el("style");
  style.textContent = "svg{max-width:none}.lit rect{stroke:#8a5a00;stroke-width:2}[data-at]{cursor:pointer}@media(prefers-color-scheme:dark){.lit rect{stroke:#ffc861}}";
  root.append(style, document.importNode(svg, true));
  const cells = [...root.querySelectorAll("g.c")].filter((g) => g.querySelector("title"));
  let at = -1;
  const lit = (cell) => {
    const ref = cell?.dataset.ref;
    for (const r of group) {
      for (const g of r.querySelectorAll(".lit")) g.classList.remove("lit");
      if (ref) for (const g of r.querySelectorAll("[data-ref]")) if (g.dataset.ref === ref) g.classList.add("lit");
    }
    cell?.classList.add("lit");
    say(cell ? `${cell.querySelector("text").textContent}: ${cell.querySelector("title").textContent}` : "");
  };
  group.push(root);
  root.addEventListener("pointerover", (e) => lit(e.target.closest("g.c")));
  box.addEventListener("pointerleave", () => lit(null));
  root.addEventListener("click", (e) => {
    const g = e.target.closest("[data-at]");
    if (g) chosen(g.dataset.at);
  });
  box.addEventListener("keydown", (e) => {
    if (e.key === "." && cells.length) at = (at + 1) % cells.length;
    else if (e.key === "," && cells.length) at = (at + cells.length - 1) % cells.length;
    else if (e.key === "Enter" && at >= 0 && cells[at].dataset.at) return chosen(cells[at].dataset.at);
    else return;
    e.preventDefault();
    e.stopPropagation();
    cells[at].scrollIntoView({ block: "nearest", inline: "nearest" });
    lit(cells[at]);
  });
  return box;
}
