/** The handshake, calls, errors, notifications, cancelling, long lines. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { Gateway, GatewayDied, GatewayError, PROTOCOL_VERSION, type Methods } from "../src/index.ts";
import { command, LATE_MS, next, Stage, way } from "./stage.ts";

test("the handshake, typed results and notifications", async () => {
  await new Stage().tell(async (gateway) => {
    assert.equal(gateway.handshake.workspace_id, "ws_here");
    assert.equal(gateway.handshake.protocol_version, PROTOCOL_VERSION);
    assert.equal(gateway.pid === undefined, way === "http");
    const [changed, forgotten] = [next(gateway, "memory/changed"), next(gateway, "memory/forgotten")];
    const { record } = await gateway.call("memory/remember", { content: "The boat is called Tern." });
    const found = await gateway.call("memory/search", { query: "boat" });
    assert.deepEqual(found.hits.map((hit) => hit.record.content), ["The boat is called Tern."]);
    assert.equal((await changed).memory_id, record.memory_id);
    await gateway.call("memory/forget", { target: { kind: "id", memory_id: record.memory_id } });
    assert.deepEqual((await forgotten).memory_ids, [record.memory_id]);
  });
});

test("a listener is called until it is taken away", async () => {
  await new Stage().tell(async (gateway) => {
    const seen: string[] = [];
    const stop = gateway.on("memory/changed", (changed) => seen.push(changed.change_kind));
    const first = next(gateway, "memory/changed");
    await gateway.call("memory/remember", { content: "The boat is called Tern." });
    await first;
    stop();
    stop();
    const second = next(gateway, "memory/changed");
    await gateway.call("memory/remember", { content: "The harbour is Pellworm." });
    await second;
    assert.deepEqual(seen, ["created"]);
  });
});

test("errors are typed", async () => {
  const stage = new Stage();
  let kept: Gateway | undefined;
  await stage.tell(async (gateway) => {
    kept = gateway;
    const missing = await refusal(gateway.call("thread/get", { thread_id: "thr_none" }));
    assert.deepEqual([missing.reason, missing.code, missing.retryable], ["not_found", -32044, false]);
    const wrong = await refusal(gateway.call("memory/search", { query: "x".repeat(5000) }));
    assert.equal(wrong.reason, "invalid_params");
    assert.equal(wrong.details?.["path"], "$.query");
    assert.equal(wrong.incidentId, null);
  });
  await assert.rejects(kept?.call("ping", {}) ?? Promise.resolve(), GatewayDied);
  await kept?.close(); // a second time
});

test("a call that is too long is refused, and the next one is answered", async () => {
  await new Stage("\n[gateway.limits]\nmax_message_bytes = 65536\n").tell(async (gateway) => {
    const long = refusal(gateway.call("memory/search", { query: "x".repeat(100_000) }));
    assert.equal((await gateway.call("memory/search", { query: "boat" })).hits.length, 0);
    assert.match((await long).reason, /message_too_large|too_large|invalid_params/);
  });
});

test("an aborted call is cancelled at the gateway", async () => {
  const stage = new Stage("\n[gateway.limits]\nmax_in_flight = 2\n");
  stage.script([{ role: "any", respond: { text: "ok" }, delay_ms: LATE_MS }]);
  await stage.tell(async (gateway) => {
    const first = new AbortController();
    const asked = gateway.call("provider/test", { name: "scripted" }, { signal: first.signal });
    const failed = assert.rejects(asked, { message: "the person went away" });
    while (stage.asked.length === 0) await isOverloaded(gateway);
    first.abort(new Error("the person went away"));
    await failed;
    const second = new AbortController();
    const again = gateway.call("provider/test", { name: "scripted" }, { signal: second.signal });
    const failedAgain = assert.rejects(again, { name: "AbortError" });
    while (await isOverloaded(gateway)); // for ten minutes, if the gateway had not heard of both ends
    second.abort();
    await failedAgain;
    const late = gateway.call("provider/test", { name: "scripted" }, { timeoutMs: 200 });
    await assert.rejects(late, { name: "TimeoutError" });
    const never = gateway.call("memory/remember", { content: "The boat is blue." }, { signal: AbortSignal.abort() });
    await assert.rejects(never, { name: "AbortError" });
    assert.deepEqual((await gateway.call("memory/list", {})).records, []);
  });
});

test("lines of eight megabytes", async () => {
  await new Stage().tell(async (gateway) => {
    const [a, b] = ["ä".repeat(1_950_000), "b".repeat(3_900_000)];
    const { imported } = await gateway.call("thread/import", {
      workspace_id: "ws_here",
      thread_id: "thr_1",
      source: { kind: "chat", id: "1" },
      turns: [{ at: 1, items: [{ role: "user", text: a }, { role: "assistant", text: b }] }],
    });
    assert.equal(imported, 1);
    const { items } = await gateway.call("thread/history", { thread_id: "thr_1" });
    assert.equal(items.map((item) => item.text).sort().join() === [a, b].sort().join(), true);
  });
});

test("a gateway that does not start says why", async () => {
  const stage = new Stage();
  const nonsense = Gateway.spawn({ command, home: stage.home, arguments: ["--nonsense"] });
  await assert.rejects(nonsense, (error) => error instanceof GatewayDied && /code 64: .*--nonsense/.test(error.message));
  const none = Gateway.spawn({ command: join(stage.folder, "none") });
  await assert.rejects(none, (error) => error instanceof GatewayDied && error.message.includes("cannot be started"));
  const talker = [process.execPath, "-e", "console.log('hello'); setInterval(() => {}, 1000)"];
  const talking = Gateway.spawn({ command: talker });
  await assert.rejects(talking, (error) => error instanceof GatewayDied && error.message.includes("no message"));
  await assert.rejects(Gateway.connect({ url: "127.0.0.1:1", token: "x" }), /no http or https address/);
  await assert.rejects(Gateway.connect({ url: "http://127.0.0.1:1", token: "x" }), /the door does not answer/);
});

test("a wrong token is refused", { skip: way === "pipes" }, async () => {
  const stage = new Stage();
  await stage.tell(async () => {
    const refused = await refusal(Gateway.connect({ url: stage.url, token: "wrong" }));
    assert.equal(refused.reason, "unauthorized");
  });
});

async function refusal(call: Promise<unknown>): Promise<GatewayError> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof GatewayError, String(error));
  return error;
}

/** Return whether there is no room for one more request; over pipes it would wait instead. */
async function isOverloaded(gateway: Gateway): Promise<boolean> {
  try {
    await gateway.call("ping", {});
    return false;
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.reason, "overloaded");
    return true;
  }
}

/** Never called: the compiler reads it. */
export async function typesRefuse(gateway: Gateway): Promise<void> {
  // @ts-expect-error there is no such method
  await gateway.call("memory/serch", { query: "boat" });
  // @ts-expect-error the query is missing
  await gateway.call("memory/search", {});
  // @ts-expect-error there is no such parameter
  await gateway.call("memory/search", { query: "boat", limits: 3 });
  const { hits } = await gateway.call("memory/search", { query: "boat" });
  // @ts-expect-error there is no such member of a hit
  hits.map((hit) => hit.records);
  // @ts-expect-error the reason is none of this method
  const reason: Methods["memory/search"]["errors"] = "turn_in_progress";
  // @ts-expect-error there is no such notification
  gateway.on("memory/change", () => reason);
}
