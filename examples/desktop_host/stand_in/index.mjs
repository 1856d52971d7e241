/**
 * What the example needs of Electron, for a test under plain Node: the test installs this folder as `electron`.
 *
 * A window is a thread of its own (window.mjs): it has no other way to the main process than messages, which are cloned
 * as Electron clones them. Instead of index.html it runs the script that the variable PAGE names.
 */

import { EventEmitter } from "node:events";
import { Worker } from "node:worker_threads";

export { contextBridge, ipcRenderer } from "./renderer.mjs";

/** @typedef {(event: { sender: WebContents }, ...given: any[]) => unknown} Handler */

/** @type {Map<string, Handler>} */
const handlers = new Map();

export const ipcMain = {
  /** @param {string} channel @param {Handler} handler */
  handle(channel, handler) {
    handlers.set(channel, handler);
  },
};

class App extends EventEmitter {
  whenReady() {
    return Promise.resolve();
  }
  getName() {
    return "desktop_host";
  }
  getVersion() {
    return "0.0.0";
  }
  quit() {
    this.exit(0);
  }
  /** @param {number} code */
  exit(code) {
    process.exit(code);
  }
}

export const app = new App();

class WebContents {
  /** @param {Worker} worker */
  constructor(worker) {
    this.worker = worker;
    worker.on("message", ({ id, channel, given }) => void this.answer(id, channel, given));
  }

  /** @param {string} channel @param {unknown[]} given */
  send(channel, ...given) {
    this.worker.postMessage({ channel, given });
  }

  /** @param {number} id @param {string} channel @param {unknown[]} given */
  async answer(id, channel, given) {
    try {
      this.worker.postMessage({ id, result: await handlers.get(channel)?.({ sender: this }, ...given) });
    } catch (error) {
      this.worker.postMessage({ id, error: String(error) });
    }
  }
}

export class BrowserWindow {
  /** @param {{ webPreferences: { preload: string; contextIsolation: boolean; sandbox: boolean } }} options */
  constructor({ webPreferences }) {
    const { contextIsolation, preload, sandbox } = webPreferences;
    if (!contextIsolation || !sandbox) throw new Error("a window of this test is isolated");
    const workerData = { preload, page: process.env["PAGE"] };
    this.worker = new Worker(new URL("window.mjs", import.meta.url), { workerData });
    this.webContents = new WebContents(this.worker);
    this.isOpen = true;
    this.worker.on("error", (error) => {
      console.error(error);
      app.exit(1);
    });
    this.worker.on("exit", () => {
      this.isOpen = false;
      app.emit("window-all-closed");
    });
  }

  isDestroyed() {
    return !this.isOpen;
  }

  /** @param {string} _file */
  async loadFile(_file) {
    this.worker.postMessage({ channel: "load", given: [] });
  }
}
