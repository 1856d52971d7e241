/** The small decisions of the client. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { LineSplitter } from "../src/connection.ts";
import { SAFE_TO_REPEAT } from "../src/index.ts";
import { makeWaits } from "../src/waits.ts";

test("the waits double up to half a minute", () => {
  const waits = makeWaits();
  const found = Array.from({ length: 9 }, () => waits.next().value);
  assert.deepEqual(found, [250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
});

test("any split of the same bytes gives the same lines", () => {
  const bytes = Buffer.from("ä\r\n\nbc\r\n{}\nrest", "utf8");
  for (let first = 0; first <= bytes.length; first += 1) {
    for (let second = first; second <= bytes.length; second += 1) {
      const splitter = new LineSplitter();
      const parts = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
      assert.deepEqual(parts.flatMap((part) => splitter.feed(part)), ["ä", "", "bc", "{}"]);
    }
  }
});

test("what is safe to repeat only reads", () => {
  for (const name of ["ping", "memory/search", "turn/get"]) assert.equal(SAFE_TO_REPEAT.has(name), true);
  for (const name of ["memory/remember", "turn/start", "turn/cancel"]) assert.equal(SAFE_TO_REPEAT.has(name), false);
});
