// The ten lessons: their text, sessions and pictures, questions that are answered at once,
// and an exercise whose answer is checked.
import { el, machine, picture, visible } from "./program.js";

const given = new Map(); // lesson number → Map of answers, for the file that is handed in

export async function show(element, where, part) {
  element.replaceChildren(el("p", { role: "status" }, "The program is being loaded …"));
  try {
    if (part === "lesson") await lesson(element, where);
    else await index(element);
  } catch (err) {
    element.replaceChildren(el("p", { role: "alert" }, visible(err.message)));
  }
}

async function index(element) {
  const all = await machine().call("lessons");
  element.replaceChildren(el("h2", {}, "Ten lessons"),
    el("ol", { class: "lessons" }, ...all.map((l) => el("li", {}, el("a", { href: `#lesson/${l.number}` }, l.title), ` ${l.minutes} minutes. ${l.goal}`))));
}

async function lesson(element, number) {
  const l = await machine().call("lesson", number);
  if (!given.has(l.number)) given.set(l.number, new Map());
  const answers = given.get(l.number);
  const group = [];
  const about = el("p", { class: "about", "aria-live": "polite" });
  const say = (text) => { about.textContent = text; };
  const parts = l.blocks.map((b) => {
    if (b.text) return el("div", {}, ...markdown(b.text));
    if (b.run) return el("div", { class: "session" }, ...b.run.flatMap((r) => [el("pre", { class: "command", tabindex: "0" }, `# ${r.command}`), r.output ? el("pre", { tabindex: "0" }, visible(r.output)) : null]).filter(Boolean));
    if (b.show) {
      return el("figure", {}, b.show.svg ? picture({ name: b.show.view, svg: b.show.svg }, group, say, () => {}) : el("pre", { tabindex: "0" }, visible(b.show.text)),
        el("figcaption", {}, b.show.place ? el("a", { href: `#step/${b.show.place}` }, "Walk from here") : ""));
    }
    if (b.question) return question(l, b.question, answers);
    return exercise(l, b.exercise, answers);
  });
  const near = (n) => (n >= 1 && n <= 10 ? el("a", { href: `#lesson/${n}` }, `Lesson ${n}`) : "");
  element.replaceChildren(el("h2", {}, `Lesson ${l.number}: ${l.title}`), el("p", { class: "goal" }, `${l.goal} About ${l.minutes} minutes.`), ...parts, about,
    el("p", {}, el("strong", {}, "Next: "), l.next), el("p", { class: "bar" }, near(l.number - 1), " ", near(l.number + 1)),
    el("p", { class: "bar" }, el("button", { type: "button", onclick: () => save(l, answers) }, "Save my answers"), " as a file that ",
      el("code", {}, `ftracelab learn ${l.number} --answers FILE`), " grades."));
}

function verdict(out, g) {
  out.className = g.right ? "right" : "wrong";
  out.textContent = `${g.right ? "Right. " : "Not yet. "}${visible(g.say)}`;
}

async function judge(l, id, answer, out) {
  out.textContent = "…";
  try {
    verdict(out, await machine().call("judge", l.number, id, answer));
  } catch (err) {
    out.className = "wrong";
    out.textContent = visible(err.message);
  }
}

function question(l, q, answers) {
  const out = el("p", { role: "status" });
  const name = `q-${l.number}-${q.id}`;
  const form = el("form", { class: "question", onsubmit: (e) => {
    e.preventDefault();
    const answer = new FormData(form).get(name);
    if (!answer) {
      out.textContent = "Choose or write an answer first.";
      return;
    }
    answers.set(q.id, answer);
    judge(l, q.id, answer, out);
  } });
  const field = q.choices?.length
    ? el("fieldset", {}, el("legend", {}, q.ask), ...q.choices.map((text, i) => {
      const letter = String.fromCharCode(97 + i);
      return el("label", { class: "choice" }, el("input", { type: "radio", name, value: letter }), ` ${letter}. ${text}`);
    }))
    : el("label", {}, q.ask, " ", el("input", { name, autocomplete: "off", spellcheck: "false", inputmode: q.kind === "number" ? "numeric" : "text" }));
  form.append(field, el("button", {}, "Answer"), out);
  return form;
}

function exercise(l, x, answers) {
  const out = el("p", { role: "status" });
  const name = `x-${l.number}`;
  const hint = x.hint ? el("details", {}, el("summary", {}, "A hint"), el("p", {}, x.hint)) : null;
  const form = el("form", { class: "question exercise", onsubmit: (e) => {
    e.preventDefault();
    const answer = new FormData(form).get(name);
    answers.set("exercise", answer);
    judge(l, "exercise", answer, out);
  } });
  form.append(el("label", {}, el("strong", {}, "Break it. "), x.ask,
    el("textarea", { name, rows: x.kind === "place" ? 1 : 6, spellcheck: "false", autocomplete: "off" })),
  x.setup?.length ? el("pre", { tabindex: "0" }, x.setup.map((c) => `# ${c}`).join("\n")) : null ?? "", hint ?? "", el("button", {}, "Check"), out);
  return form;
}

// save hands the answers to the reader as the YAML that learn --answers reads.
function save(l, answers) {
  const text = [...answers].map(([id, a]) => `${id}: |-\n${a.split("\n").map((line) => `  ${line}`).join("\n")}\n`).join("");
  const url = URL.createObjectURL(new Blob([text], { type: "application/yaml" }));
  el("a", { href: url, download: `lesson-${l.number}.yaml` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// markdown makes elements of the little Markdown that lessons use.
export function markdown(text) {
  const out = [];
  const lines = text.split("\n");
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    if (line.startsWith("```")) {
      const end = lines.findIndex((s, j) => j > i && s.startsWith("```"));
      out.push(el("pre", { tabindex: "0" }, lines.slice(i + 1, end < 0 ? undefined : end).join("\n")));
      i = end < 0 ? lines.length : end + 1;
    } else if (/^#+ /.test(line)) {
      out.push(el("h3", {}, ...inline(line.replace(/^#+ /, ""))));
      i++;
    } else if (line.startsWith("* ")) {
      const items = [];
      for (; i < lines.length && lines[i].trim(); i++) {
        if (lines[i].startsWith("* ")) items.push(lines[i].slice(2));
        else items[items.length - 1] += " " + lines[i].trim();
      }
      out.push(el("ul", {}, ...items.map((t) => el("li", {}, ...inline(t)))));
    } else if (line.startsWith("|")) {
      const rows = [];
      for (; i < lines.length && lines[i].startsWith("|"); i++) if (!/^[|\s:-]+$/.test(lines[i])) rows.push(lines[i].split("|").slice(1, -1).map((c) => c.trim()));
      out.push(el("table", {}, ...rows.map((r, n) => el("tr", {}, ...r.map((c) => el(n ? "td" : "th", {}, ...inline(c)))))));
    } else if (line.trim()) {
      const from = i;
      while (i < lines.length && lines[i].trim() && !/^(```|#+ |\* |\|)/.test(lines[i])) i++;
      out.push(el("p", {}, ...inline(lines.slice(from, Math.max(i, from + 1)).join(" "))));
      i = Math.max(i, from + 1);
    } else {
      i++;
    }
  }
  return out;
}

function inline(text) {
  return text.split(/(`[^`]*`|\*\*[^*]*\*\*)/).map((t) => {
    if (t.startsWith("`") && t.endsWith("`") && t.length > 1) return el("code", {}, t.slice(1, -1));
    if (t.startsWith("**") && t.length > 3) return el("strong", {}, t.slice(2, -2));
    return t;
  });
}
