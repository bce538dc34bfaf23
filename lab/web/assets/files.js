// The file system of a Go program in a worker: files in memory, and files that somebody
// has dropped, of which each read takes only its own bytes. It has the form that Go's
// wasm_exec.js asks of globalThis.fs.
const nodes = new Map([["/", { dir: true }], ["/tmp", { dir: true }], ["/dropped", { dir: true }]]);
const descriptors = new Map();
let nextFD = 3;
let nextIno = 1;

export const files = { said: () => {} };

// give puts a dropped file at a path.
export function give(path, file) {
  nodes.set(path, { file });
}

// taken is the content of a file that the program has written, which is then gone.
export function taken(path) {
  const n = nodes.get(path);
  nodes.delete(path);
  return n?.bytes ? n.bytes.slice(0, n.size) : null;
}

function fault(code, path = "") {
  const e = new Error(`${code}: ${path}`);
  e.code = code;
  return e;
}

const cwd = "/dropped"; // so that a file is called by its name alone

function clean(path) {
  const out = [];
  for (const part of (path.startsWith("/") ? path : `${cwd}/${path}`).split("/")) {
    if (part === "..") out.pop();
    else if (part && part !== ".") out.push(part);
  }
  return "/" + out.join("/");
}

function find(path) {
  const n = nodes.get(clean(path));
  if (!n) throw fault("ENOENT", path);
  return n;
}

function size(n) {
  return n.dir ? 0 : n.file ? n.file.size : n.size;
}

function stat(n, path) {
  return {
    dev: 1, ino: (n.ino ??= nextIno++), mode: n.dir ? 0o40755 : n.device ? 0o20666 : 0o100644, nlink: 1, uid: 0, gid: 0, rdev: 0, size: size(n), blksize: 4096,
    blocks: Math.ceil(size(n) / 512), atimeMs: 0, mtimeMs: 0, ctimeMs: 0, isDirectory: () => Boolean(n.dir), path,
  };
}

function resize(n, to) {
  if (to > (n.bytes?.length ?? 0)) {
    const more = new Uint8Array(Math.max(to, 2 * (n.bytes?.length ?? 0), 4096));
    if (n.bytes) more.set(n.bytes);
    n.bytes = more;
  }
  n.size = to;
}

const constants = { O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536 };

function open(path, flags) {
  path = clean(path);
  let n = nodes.get(path);
  if (n && flags & constants.O_CREAT && flags & constants.O_EXCL) throw fault("EEXIST", path);
  if (!n) {
    if (!(flags & constants.O_CREAT)) throw fault("ENOENT", path);
    if (!nodes.get(path.slice(0, path.lastIndexOf("/")) || "/")?.dir) throw fault("ENOENT", path);
    n = { bytes: new Uint8Array(0), size: 0 };
    nodes.set(path, n);
  }
  if (n.file && flags & 3) throw fault("EACCES", path);
  if (flags & constants.O_TRUNC && !n.dir) resize(n, 0);
  descriptors.set(nextFD, { n, path, at: 0, append: Boolean(flags & constants.O_APPEND) });
  return nextFD++;
}

function of(fd) {
  const d = descriptors.get(fd);
  if (!d) throw fault("EBADF");
  return d;
}

// What was read of dropped files last: the pages of the CPUs lie far from each other, and
// are read in turns. The one that was asked for longest ago comes first.
const blocks = new Map();
const blockSize = 1 << 18;
const mostBlocks = 64;

// block is the block of a dropped file in which a place is.
function block(n, at) {
  const from = at - at % blockSize;
  const key = `${n.ino ??= nextIno++} ${from}`;
  let bytes = blocks.get(key);
  blocks.delete(key);
  bytes ??= new Uint8Array(new FileReaderSync().readAsArrayBuffer(n.file.slice(from, from + blockSize)));
  blocks.set(key, bytes);
  if (blocks.size > mostBlocks) blocks.delete(blocks.keys().next().value);
  return bytes.subarray(at - from);
}

function read(fd, buffer, offset, length, position) {
  if (fd === 0) return 0;
  const d = of(fd);
  if (d.n.dir) throw fault("EISDIR", d.path);
  const from = position ?? d.at;
  const n = Math.max(0, Math.min(length, size(d.n) - from));
  if (n === 0) return 0;
  if (d.n.file) {
    let done = 0;
    while (done < n) {
      const at = from + done;
      let part;
      try {
        part = block(d.n, at);
      } catch {
        throw fault("EIO", d.path);
      }
      if (part.length === 0) throw fault("EIO", d.path);
      part = part.subarray(0, n - done);
      buffer.set(part, offset + done);
      done += part.length;
    }
  } else {
    buffer.set(d.n.bytes.subarray(from, from + n), offset);
  }
  if (position === null || position === undefined) d.at += n;
  return n;
}

const text = new TextDecoder();

function write(fd, buffer, offset, length, position) {
  if (fd === 1 || fd === 2) {
    files.said(text.decode(buffer.slice(offset, offset + length)));
    return length;
  }
  const d = of(fd);
  const from = d.append ? d.n.size : position ?? d.at;
  if (from + length > d.n.size) resize(d.n, from + length);
  d.n.bytes.set(buffer.subarray(offset, offset + length), from);
  if (position === null || position === undefined) d.at = from + length;
  return length;
}

function readdir(path) {
  path = clean(path);
  if (!find(path).dir) throw fault("ENOTDIR", path);
  const below = path === "/" ? "/" : path + "/";
  return [...nodes.keys()].filter((p) => p !== path && p.startsWith(below) && !p.slice(below.length).includes("/")).map((p) => p.slice(below.length)).sort();
}

function rename(from, to) {
  nodes.set(clean(to), find(from));
  nodes.delete(clean(from));
}

// late makes a function with a callback of one that answers or throws.
function late(f, value = true) {
  return (...args) => {
    const callback = args.pop();
    let answer;
    try {
      answer = f(...args);
    } catch (err) {
      callback(err.code ? err : fault("EIO", err.message));
      return;
    }
    if (value) callback(null, answer);
    else callback(null);
  };
}

globalThis.fs = {
  constants,
  open: late((path, flags) => open(path, flags)),
  close: late((fd) => { of(fd); descriptors.delete(fd); }, false),
  fstat: late((fd) => (fd < 3 ? stat({ device: true, size: 0 }, "") : stat(of(fd).n, of(fd).path))),
  stat: late((path) => stat(find(path), path)),
  lstat: late((path) => stat(find(path), path)),
  read: late(read),
  write: late(write),
  writeSync: (fd, buffer) => write(fd, buffer, 0, buffer.length, null),
  readdir: late(readdir),
  mkdir: late((path) => { if (nodes.has(clean(path))) throw fault("EEXIST", path); nodes.set(clean(path), { dir: true }); }, false),
  unlink: late((path) => { find(path); nodes.delete(clean(path)); }, false),
  rmdir: late((path) => { find(path); nodes.delete(clean(path)); }, false),
  rename: late(rename, false),
  truncate: late((path, n) => resize(find(path), n), false),
  ftruncate: late((fd, n) => resize(of(fd).n, n), false),
  fsync: late(() => {}, false),
  chmod: late(() => {}, false),
  fchmod: late(() => {}, false),
  chown: late(() => {}, false),
  fchown: late(() => {}, false),
  lchown: late(() => {}, false),
  utimes: late(() => {}, false),
  link: late((path) => { throw fault("ENOSYS", path); }),
  symlink: late((path) => { throw fault("ENOSYS", path); }),
  readlink: late((path) => { find(path); throw fault("EINVAL", path); }),
};

globalThis.process = {
  getuid: () => 0, getgid: () => 0, geteuid: () => 0, getegid: () => 0, getgroups: () => [], pid: 1, ppid: 0,
  umask: () => 0o022, cwd: () => cwd, chdir: () => { throw fault("ENOSYS"); },
};
