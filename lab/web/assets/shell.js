// The shell on the tracefs of a machine that lives in this page.
import { Program, el, visible } from "./program.js";
import { Terminal } from "./vendor/xterm.mjs";
import { FitAddon } from "./vendor/addon-fit.mjs";

let ui;

const themes = {
  dark: { background: "#14171a", foreground: "#e6e8ea", cursor: "#e6e8ea", selectionBackground: "#1f3b63" },
  light: { background: "#ffffff", foreground: "#1b1f24", cursor: "#1b1f24", selectionBackground: "#cfe3ff" },
};
const scheme = matchMedia("(prefers-color-scheme: dark)");

export async function show(element) {
  if (!ui) build(element);
  ui.fit.fit();
  if (!ui.program) start();
  ui.terminal.focus();
}

// kept are the lines of earlier sessions; a browser that keeps nothing has none.
function kept() {
  try {
    return localStorage.getItem("history") ?? "";
  } catch {
    return "";
  }
}

function start() {
  const program = new Program("machine.wasm.gz", (kind, text) => {
    if (kind === "terminal") ui.terminal.write(text);
    if (kind === "history") {
      try {
        localStorage.setItem("history", (kept() + text + "\n").split("\n").slice(-1001).join("\n"));
      } catch { /* it is not kept */ }
    }
  });
  ui.program = program;
  ui.terminal.write("the machine is being started …\r\n");
  program.call("shell", ui.terminal.cols, ui.terminal.rows, kept()).then(
    (status) => ended(program, `the shell has ended with status ${status}`),
    (err) => ended(program, err.message));
}

function ended(program, why) {
  if (ui.program !== program) return;
  program.end();
  ui.program = null;
  ui.terminal.write(`\r\n[${visible(why)}; the button starts another one]\r\n`);
}

function again() {
  const old = ui.program;
  ui.program = null;
  old?.end();
  ui.terminal.reset();
  start();
  ui.terminal.focus();
}

function build(element) {
  ui = { terminal: new Terminal({ convertEol: true, cursorBlink: false, fontSize: 14, screenReaderMode: true, reflowCursorLine: true, theme: themes[scheme.matches ? "dark" : "light"], scrollback: 10000 }), fit: new FitAddon() };
  const box = el("div", { class: "screen" });
  element.append(el("h2", {}, "A shell in the tracefs"),
    el("p", {}, "A simulated machine with Linux 6.12’s ftrace. ", el("code", {}, "help"), " lists the commands, ", el("code", {}, "explain"), " says what a thing is, Tab completes, Ctrl-R searches older lines. Ctrl-C ends a command. What it does not end is stopped with its machine:"),
    el("p", { class: "bar" }, el("button", { type: "button", onclick: again }, "Start a new machine")), box);
  ui.terminal.loadAddon(ui.fit);
  ui.terminal.open(box);
  ui.terminal.onData((data) => ui.program?.call("type", data).catch(() => {}));
  ui.terminal.onResize(({ cols, rows }) => ui.program?.call("resize", cols, rows).catch(() => {}));
  // Tab completes in the shell; Shift-Tab leaves it, for those who have only a keyboard.
  ui.terminal.attachCustomKeyEventHandler((e) => !(e.key === "Tab" && e.shiftKey));
  scheme.addEventListener("change", () => { ui.terminal.options.theme = themes[scheme.matches ? "dark" : "light"]; });
  new ResizeObserver(() => { if (box.isConnected) ui.fit.fit(); }).observe(box);
}
