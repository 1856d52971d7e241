/** What follows when the gateway dies. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Gateway, GatewayDied } from "../src/index.ts";
import { command, LATE_MS, next, question, Stage, way } from "./stage.ts";

const overPipes = { skip: way === "http" };

test("after a kill there is a new process, and the interrupted turn is named", async () => {
  const stage = new Stage();
  stage.script([{ role: "main", respond: { text: "ok" }, delay_ms: LATE_MS }]);
  await stage.tell(async (gateway) => {
    await gateway.call("thread/start", { thread_id: "thr_1" });
    const [died, restarted] = [next(gateway, "died"), next(gateway, "restarted")];
    const turn = gateway.turn(question("trn_1"));
    assert.equal((await turn.next()).value?.method, "turn/started");
    const open = assert.rejects(gateway.call("provider/test", { name: "scripted" }), GatewayDied);
    await gateway.call("gateway/status", {});
    const before = gateway.pid;
    await stage.kill(gateway);
    await open;
    await assert.rejects(async () => {
      for await (const notice of turn) assert.notEqual(notice.method, "turn/completed");
    }, GatewayDied);
    assert.notEqual((await died).reason, "");
    assert.deepEqual((await restarted).interruptedTurns, [{ thread_id: "thr_1", turn_id: "trn_1" }]);
    assert.equal(gateway.pid === undefined || gateway.pid !== before, true);
    stage.script([{ role: "main", respond: { text: "Without." } }]);
    let last = "";
    for await (const notice of gateway.turn(question())) last = notice.method;
    assert.equal(last, "turn/completed");
  });
});

test("a read that a crash left unanswered is asked again, and a write is not", overPipes, async () => {
  const stage = new Stage();
  await stage.tell(async (gateway) => {
    await gateway.call("memory/remember", { content: "The boat is called Tern." });
    process.kill(gateway.pid ?? 0, "SIGSTOP"); // so that neither is answered before it is killed
    const read = gateway.call("memory/search", { query: "boat" });
    const write = assert.rejects(gateway.call("memory/remember", { content: "The boat is blue." }), GatewayDied);
    await stage.kill(gateway);
    await write;
    assert.deepEqual((await read).hits.map((hit) => hit.record.content), ["The boat is called Tern."]);
  });
});

test("a call waits for the new process, as long as its time allows", overPipes, async () => {
  const stage = new Stage();
  await stage.tell(async (gateway) => {
    const died = next(gateway, "died");
    await stage.kill(gateway);
    await died;
    assert.equal(gateway.pid, undefined);
    await assert.rejects(gateway.call("ping", {}, { timeoutMs: 1 }), { name: "TimeoutError" });
    await gateway.call("ping", {});
    assert.notEqual(gateway.pid, undefined);
  });
});

test("a client that is closed while it waits starts nothing", overPipes, async () => {
  const stage = new Stage();
  const gateway = await stage.open();
  const died = next(gateway, "died");
  await stage.kill(gateway);
  await died;
  const waiting = assert.rejects(gateway.call("memory/remember", { content: "The boat is blue." }), GatewayDied);
  let restarts = 0;
  gateway.on("restarted", () => (restarts += 1));
  await gateway.close();
  await waiting;
  assert.deepEqual([restarts, gateway.pid], [0, undefined]);
});

test("without restart the end is the end", overPipes, async () => {
  const stage = new Stage();
  const gateway = await Gateway.spawn({ command, home: stage.home, restart: false });
  const died = next(gateway, "died");
  await stage.kill(gateway);
  assert.match((await died).reason, /SIGKILL/);
  await assert.rejects(gateway.call("ping", {}), (error) => {
    return error instanceof GatewayDied && error.message.includes("SIGKILL");
  });
  await gateway.close();
});
