// The page's parts, one of which is shown: what stands behind # says which, and where in it.
const parts = {
  step: () => import("./stepper.js"),
  lessons: () => import("./lessons.js"),
  lesson: () => import("./lessons.js"),
  shell: () => import("./shell.js"),
  estimate: () => import("./estimate.js"),
  timeline: () => import("./trace.js"),
};

const main = document.getElementById("main");
const shown = new Map(); // by module: the element it draws into, which is kept

async function show() {
  const [name, ...rest] = decodeURI(location.hash.slice(1)).split("/");
  const part = Object.hasOwn(parts, name) ? name : "step";
  const where = part === name ? rest.join("/") : "event?step=0";
  for (const a of document.querySelectorAll("nav a")) {
    if (a.dataset.part === (part === "lesson" ? "lessons" : part)) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  let module;
  try {
    module = await parts[part]();
  } catch (err) {
    main.replaceChildren(sentence(`This part could not be loaded: ${err.message}`));
    return;
  }
  if (!shown.has(module)) shown.set(module, document.createElement("div"));
  const element = shown.get(module);
  if (main.firstChild !== element || main.childNodes.length !== 1) main.replaceChildren(element);
  element.querySelector(":scope > .fault")?.remove();
  try {
    await module.show(element, where, part);
  } catch (err) {
    element.prepend(sentence(`This part does not work: ${err.message}`));
  }
  document.documentElement.classList.add("ready");
}

function sentence(text) {
  const p = document.createElement("p");
  p.setAttribute("role", "alert");
  p.className = "fault";
  p.textContent = text;
  return p;
}

addEventListener("hashchange", show);
show();
