/** The part of Electron that a preload script gets. */

import { parentPort } from "node:worker_threads";

/** @type {Map<number, { resolve: (value: any) => void; reject: (error: Error) => void }>} */
const asked = new Map();
/** @type {Map<string, Array<(event: object, ...given: any[]) => void>>} */
const listeners = new Map();
/**
 * What the preload script gave the page.
 *
 * @type {{ [name: string]: unknown }}
 */
export const world = {};
let lastId = 0;

export const ipcRenderer = {
  /** @param {string} channel @param {unknown[]} given */
  invoke(channel, ...given) {
    const id = ++lastId;
    parentPort?.postMessage({ id, channel, given });
    return new Promise((resolve, reject) => asked.set(id, { resolve, reject }));
  },
  /** @param {string} channel @param {(event: object, ...given: any[]) => void} listener */
  on(channel, listener) {
    listeners.set(channel, [...(listeners.get(channel) ?? []), listener]);
  },
};

export const contextBridge = {
  /** @param {string} name @param {object} api */
  exposeInMainWorld(name, api) {
    world[name] = api;
  },
};

parentPort?.on("message", ({ id, result, error, channel, given }) => {
  const waiting = asked.get(id);
  if (waiting === undefined) for (const listener of listeners.get(channel) ?? []) listener({}, ...given);
  else if (error === undefined) waiting.resolve(result);
  else waiting.reject(new Error(error));
});
