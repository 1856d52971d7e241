/**
 * The main process: it owns the gateway. A page reaches what METHODS and EVENTS list, and nothing else.
 *
 * Rule 1: the page is not trusted. What its preload script offers is a convenience; this list is the border.
 * Rule 2: an error crosses the border as a value: Electron takes the members of a thrown one away.
 */

import { app, BrowserWindow, ipcMain } from "electron";
import { Gateway, GatewayDied, GatewayError } from "@pioneer-gateway/client";
import { fileURLToPath } from "node:url";

/** @import { Events, MethodName } from "@pioneer-gateway/client" */

/** @type {ReadonlySet<string>} */
const METHODS = new Set(["memory/search", "memory/list", "memory/remember", "memory/forget"]);

/** @type {ReadonlyArray<keyof Events>} */
const EVENTS = ["memory/changed", "memory/forgotten", "item/agent_message/delta", "died", "restarted"];

const THREAD = "thr_desktop";

/** @typedef {{ result: unknown } | { error: { reason: string; message: string; retryable: boolean } }} Answer */

/**
 * Return the answer of a piece of work; what the client throws becomes an answer, too.
 *
 * @param {() => Promise<Answer>} work
 * @returns {Promise<Answer>}
 */
async function answer(work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GatewayError) {
      return { error: { reason: error.reason, message: error.message, retryable: error.retryable } };
    }
    if (error instanceof GatewayDied) return { error: { reason: "died", message: error.message, retryable: true } };
    throw error;
  }
}

/**
 * Run a turn of the gateway's own model; return all that it said. The pieces reach the page as events.
 *
 * @param {Gateway} gateway
 * @param {string} text
 * @returns {Promise<Answer>}
 */
async function ask(gateway, text) {
  let said = "";
  for await (const notice of gateway.turn({ thread_id: THREAD, input: [{ type: "text", text }] })) {
    if (notice.method === "item/agent_message/delta") said += notice.params.delta;
    if (notice.method === "item/agent_message/reset") said = "";
    if (notice.method === "turn/failed") return { error: notice.params.error };
  }
  return { result: said };
}

/** Spawn the gateway, open the window, and join them. */
async function start() {
  const time_zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const client = { name: app.getName(), version: app.getVersion(), time_zone };
  const gateway = await Gateway.spawn({ workspace: "ws_desktop", client });
  await gateway.call("thread/start", { thread_id: THREAD });
  const preload = fileURLToPath(new URL("preload.cjs", import.meta.url));
  const window = new BrowserWindow({ webPreferences: { preload, contextIsolation: true, sandbox: true } });

  ipcMain.handle("pioneer:call", async (event, method, params) => {
    if (event.sender !== window.webContents || !METHODS.has(method)) throw new Error(`${method} is not for pages`);
    return await answer(async () => ({ result: await gateway.call(/** @type {MethodName} */ (method), params) }));
  });
  ipcMain.handle("pioneer:ask", async (event, text) => {
    if (event.sender !== window.webContents) throw new Error("only the window asks");
    return await answer(() => ask(gateway, String(text)));
  });
  for (const name of EVENTS) {
    gateway.on(name, (params) => {
      if (!window.isDestroyed()) window.webContents.send("pioneer:event", name, params);
    });
  }
  app.on("window-all-closed", () => {
    void gateway.close().then(() => app.quit());
  });
  await window.loadFile(fileURLToPath(new URL("index.html", import.meta.url)));
}

app.whenReady().then(start).catch((error) => {
  console.error(error);
  app.exit(1);
});
