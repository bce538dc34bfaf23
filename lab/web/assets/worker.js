// The worker of one Go program: it loads it, hands calls over and answers back.
import { files, give } from "./files.js";
import { unpacked } from "./unpacked.js";
import "./programs/wasm_exec.js";

let ready;
const started = new Promise((resolve) => { ready = resolve; });
globalThis.ftracelabReady = () => ready();
globalThis.ftracelabSay = (kind, text) => postMessage({ say: kind, text });
let lastWords = "";
files.said = (text) => {
  lastWords = (lastWords + text).slice(-4000);
  postMessage({ say: "stderr", text });
};

async function load(file) {
  const go = new Go();
  go.argv = ["ftracelab", "serve"];
  go.exit = (code) => {
    const fault = /^(panic|fatal error|runtime|ftracelab): .*/m.exec(lastWords);
    ended(`the program has ended with status ${code}${fault ? `: ${fault[0]}` : ""}`);
  };
  const { instance } = await WebAssembly.instantiateStreaming(unpacked(file, "application/wasm"), go.importObject);
  go.run(instance).catch((err) => ended(err.message));
}

let why;
function ended(text) {
  why = text;
  postMessage({ say: "ended", text });
  for (const id of open) postMessage({ id, error: text });
  open.clear();
  ready();
}

const open = new Set();

onmessage = async ({ data }) => {
  if (data.load) {
    load(data.load).catch((err) => ended(`the program could not be loaded: ${err.message}`));
    return;
  }
  open.add(data.id);
  await started;
  if (why) {
    postMessage({ id: data.id, error: why });
    return;
  }
  try {
    if (data.path) {
      give(data.path, data.file);
      postMessage({ id: data.id, answer: null });
    } else {
      const text = await globalThis.ftracelab(data.name, data.args);
      if (text instanceof Uint8Array) postMessage({ id: data.id, bytes: text.buffer }, [text.buffer]);
      else postMessage({ id: data.id, answer: JSON.parse(text) });
    }
  } catch (err) {
    if (open.has(data.id)) postMessage({ id: data.id, error: why ?? String(err.message ?? err) });
  }
  open.delete(data.id);
};
