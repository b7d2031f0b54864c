// The outbox keeps batches on disk until the gateway has answered.
//
//   <folder>/<time>-<number>-<process>.json   one batch: a JSON array of CloudEvents
//
// A batch is written to a file with another ending, synced and renamed. A crash loses no batch
// and shows no half of one. A batch that is sent twice counts once, so a crash between the
// answer and the removal is harmless.
import { mkdir, open, readFile, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

let number = 0;

export class Outbox {
  constructor(folder) {
    this.folder = folder;
  }

  /** waiting returns the names of the batches of earlier processes, oldest first. */
  async waiting() {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
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
    const folder = await open(this.folder);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
    return name;
  }

  /** read returns the events of a batch as JSON texts. */
  async read(name) {
    const list = JSON.parse(await readFile(join(this.folder, name), "utf8"));
    return list.map((event) => JSON.stringify(event));
  }

  async remove(name) {
    await rm(join(this.folder, name), { force: true });
  }
}
