// The outbox keeps batches on disk until the gateway has answered.
//
//   <folder>/<time>-<number>-<process>.json   one batch: a JSON array of CloudEvents
//   <folder>/owner-<host>-<process>-<start>   the process that uses the folder
//
// A batch is written to a file that ends in .json.new, synced and renamed. A crash loses no batch
// and shows no half of one. The next owner removes the half. A batch that is sent twice counts once, so a crash between the
// answer and the removal is harmless. The SDK for Python uses the same files.
//
// A process writes its own owner file and then looks for others. So of two processes that begin
// together at least one sees the other. An owner is gone if its process has ended. Where that
// cannot be known, as on another host, an owner is gone if its file is older than a minute; a
// live owner touches its file.
import { readFileSync, rmSync } from "node:fs";
import { mkdir, open, readFile, readdir, realpath, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

let number = 0;
const folders = new Set(); // of this process
const stale = 60_000; // milliseconds without a touch, on another host
const touch = 15_000;

export class Outbox {
  #owner = null;
  #timer = null;

  constructor(folder) {
    this.folder = folder;
  }

  /** open owns the folder until close. It throws if another client or process uses the folder. */
  async open() {
    const given = this.folder;
    await mkdir(given, { recursive: true, mode: 0o700 });
    const folder = await realpath(given);
    if (folders.has(folder)) throw inUse(`another client of this process uses the outbox ${given}; give each client a folder of its own`);
    folders.add(folder);
    this.folder = folder;
    const host = hostname().replace(/[^A-Za-z0-9.]/g, "_");
    const name = `owner-${host}-${process.pid}-${startOf(process.pid)}`;
    this.#owner = join(folder, name);
    try {
      await writeFile(this.#owner, "");
      for (const other of await readdir(folder)) {
        if (!other.startsWith("owner-") || other === name) continue;
        if (await alive(join(folder, other), other, host)) throw inUse(`process ${other.split("-").at(-2)} uses the outbox ${given}; give each process a folder of its own`);
        await rm(join(folder, other), { force: true });
      }
      for (const half of await readdir(folder)) if (half.endsWith(".json.new")) await rm(join(folder, half), { force: true });
    } catch (error) {
      this.close();
      throw error;
    }
    this.#timer = setInterval(() => utimes(this.#owner, new Date(), new Date()).catch(() => {}), touch);
    this.#timer.unref();
  }

  /** close gives the folder to the next client. */
  close() {
    if (!this.#owner) return;
    clearInterval(this.#timer);
    rmSync(this.#owner, { force: true });
    folders.delete(this.folder);
    this.#owner = null;
  }

  /** waiting returns the names of the batches of earlier processes, oldest first. */
  async waiting() {
    return (await readdir(this.folder)).filter((name) => name.endsWith(".json")).sort();
  }

  /** keep returns when a batch is durable on this machine, with its name. */
  async keep(documents) {
    const name = `${String(Date.now()).padStart(14, "0")}-${String(number++).padStart(8, "0")}-${process.pid}.json`;
    const path = join(this.folder, name);
    const file = await open(path + ".new", "w", 0o600);
    try {
      await file.writeFile(`[${documents.join(",")}]`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(path + ".new", path);
    if (process.platform !== "win32") {
      const folder = await open(this.folder);
      try {
        await folder.sync();
      } finally {
        await folder.close();
      }
    }
    return name;
  }

  /** read returns the events of a batch as JSON texts. */
  async read(name) {
    const list = JSON.parse(await readFile(join(this.folder, name), "utf8"));
    return list.map((event) => JSON.stringify(event));
  }

  /** setAside keeps a batch that cannot be read under another name. */
  async setAside(name) {
    await rename(join(this.folder, name), join(this.folder, name + ".unreadable"));
  }

  async remove(name) {
    await rm(join(this.folder, name), { force: true });
  }
}

function inUse(message) {
  return Object.assign(new Error(message), { code: "OUTBOX_IN_USE" });
}

/** startOf returns the start of a process, which tells it from an earlier one with its id. */
function startOf(id) {
  try {
    const text = readFileSync(`/proc/${id}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 1).trim().split(/\s+/)[19] ?? "0";
  } catch {
    return "0";
  }
}

async function alive(path, name, host) {
  const match = /^owner-([^-]*)-(\d+)-(\d+)$/.exec(name);
  if (!match) return false;
  if (match[1] !== host || process.platform === "win32") {
    const found = await stat(path).catch(() => null);
    return found !== null && Date.now() - found.mtimeMs < stale;
  }
  const id = Number(match[2]);
  if (id === process.pid) return false; // an earlier process with this id
  try {
    process.kill(id, 0);
  } catch (error) {
    if (error.code !== "EPERM") return false;
  }
  return match[3] === startOf(id);
}
