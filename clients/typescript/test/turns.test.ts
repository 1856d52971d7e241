/** Turns of the gateway's own model, as they are streamed. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { GatewayError } from "../src/index.ts";
import { LATE_MS, next, question, Stage } from "./stage.ts";

test("a turn is streamed", async () => {
  const stage = new Stage();
  stage.script([{ role: "main", respond: { text: "Without any sugar." }, stream_chunks: 3 }]);
  await stage.tell(async (gateway) => {
    await gateway.call("thread/start", { thread_id: "thr_1" });
    for (let time = 0; time < 2; time += 1) {
      const methods: string[] = [];
      const numbers: number[] = [];
      let text = "";
      let status = "";
      for await (const notice of gateway.turn(question())) {
        methods.push(notice.method);
        numbers.push(notice.params.seq);
        if (notice.method === "item/agent_message/delta") text += notice.params.delta;
        if (notice.method === "turn/completed") status = notice.params.turn.status;
      }
      assert.equal(methods.filter((name) => name === "item/agent_message/delta").length, 3);
      assert.deepEqual([text, status], ["Without any sugar.", "completed"]);
      assert.deepEqual([methods[0], methods.at(-1)], ["turn/started", "turn/completed"]);
      assert.deepEqual(numbers, numbers.map((_, index) => index + 1));
    }
  });
});

test("a turn that has ended yields nothing, and one that cannot begin says so", async () => {
  const stage = new Stage();
  stage.script([{ role: "main", respond: { text: "Without." } }]);
  await stage.tell(async (gateway) => {
    await assert.rejects(gateway.turn(question()).next(), (error) => {
      return error instanceof GatewayError && error.reason === "not_found";
    });
    await gateway.call("thread/start", { thread_id: "thr_1" });
    for (const count of [1, 0]) {
      let ends = 0;
      for await (const notice of gateway.turn(question("trn_1"))) ends += Number(notice.method === "turn/completed");
      assert.equal(ends, count);
    }
  });
});

test("a reader who leaves does not stop a turn, and a cancelled turn ends its reading", async () => {
  const stage = new Stage();
  stage.script([{ role: "main", respond: { text: "ok" }, delay_ms: LATE_MS }]);
  await stage.tell(async (gateway) => {
    await gateway.call("thread/start", { thread_id: "thr_1" });
    for await (const notice of gateway.turn(question("trn_1"))) {
      assert.equal(notice.method, "turn/started");
      break;
    }
    const { turn } = await gateway.call("turn/get", { turn_id: "trn_1" });
    assert.equal(turn.status, "in_progress");
    const cancelled = next(gateway, "turn/cancelled");
    await gateway.call("turn/cancel", { turn_id: "trn_1" });
    assert.equal((await cancelled).turn.turn_id, "trn_1");
    let last = "";
    for await (const notice of gateway.turn(question("trn_2"))) {
      last = notice.method;
      if (last === "turn/started") await gateway.call("turn/cancel", { turn_id: "trn_2" });
    }
    assert.equal(last, "turn/cancelled");
  });
});
