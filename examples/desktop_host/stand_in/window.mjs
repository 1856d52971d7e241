/** A window of the stand-in: the preload script with its part of Electron, and a page that sees only what it is given. */

import { readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";

import { contextBridge, ipcRenderer, world } from "./renderer.mjs";

// a sandboxed preload script gets Electron and no other module
const preload = `(function (require) {${readFileSync(workerData.preload, "utf8")}\n})`;
runInContext(preload, createContext({}))((/** @type {string} */ name) => {
  if (name !== "electron") throw new Error(`a sandboxed script has no ${name}`);
  return { contextBridge, ipcRenderer };
});

/** @param {unknown} value */
const report = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
ipcRenderer.on("load", async () => {
  await runInContext(readFileSync(workerData.page, "utf8"), createContext({ ...world, report }));
  parentPort?.close();
});
