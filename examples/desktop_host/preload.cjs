/**
 * The preload script: it gives the page `window.pioneer`, one function for each listed method, and no way to another.
 *
 * It is CommonJS and needs Electron alone: a sandboxed preload script may load nothing else.
 */

const { contextBridge, ipcRenderer } = require("electron");

const METHODS = {
  search: "memory/search",
  list: "memory/list",
  remember: "memory/remember",
  forget: "memory/forget",
};

const calls = Object.fromEntries(
  Object.entries(METHODS).map(([name, method]) => [
    name,
    (/** @type {object} */ params) => ipcRenderer.invoke("pioneer:call", method, params),
  ]),
);

contextBridge.exposeInMainWorld("pioneer", {
  ...calls,
  /** Ask the model; the whole answer. */
  ask: (/** @type {string} */ text) => ipcRenderer.invoke("pioneer:ask", text),
  /** Call a function with the name and the parameters of every event. */
  on: (/** @type {(name: string, params: unknown) => void} */ listener) => {
    ipcRenderer.on("pioneer:event", (_event, name, params) => listener(name, params));
  },
});
