/** Gateways for the tests, spawned or behind a door, that can be killed and are there again. */

import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";

import { Gateway, type Events, type TurnStartParams } from "../src/index.ts";

/** Longer than any test takes. */
export const LATE_MS = 600_000;

/** The way that this run is about. */
export const way = given("PIONEER_WAY") as "pipes" | "http";

export const command = JSON.parse(given("PIONEER_COMMAND")) as string[];

const LISTENS = /pioneer http: (http:\/\/[0-9.]+:([0-9]+)) /;

/** A rule of the scripted model. */
interface Rule {
  role: string;
  respond: { text: string };
  stream_chunks?: number;
  delay_ms?: number;
}

type DoorProcess = ChildProcessByStdio<null, Readable, null>;

/** Return a variable of the environment. */
function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: these tests are run by tests/journey`);
  return value;
}

/** A home with a configuration and a scripted model, and its gateway. */
export class Stage {
  readonly folder = mkdtempSync(join(given("PIONEER_FOLDER"), "stage-"));
  readonly home = join(this.folder, "home");
  /** The address of the door. */
  url = "";
  readonly #config = join(this.folder, "config.toml");
  #door: DoorProcess | undefined;
  #port = "0";

  constructor(config = "") {
    writeFileSync(this.#config, given("PIONEER_CONFIG") + config);
    this.script([]);
  }

  /** Replace the rules of the scripted model. */
  script(rules: readonly Rule[]): void {
    writeFileSync(join(this.folder, "script.jsonl"), rules.map((rule) => `${JSON.stringify(rule)}\n`).join(""));
  }

  /** The calls that the scripted model got so far. */
  get asked(): string[] {
    try {
      return readFileSync(join(this.folder, "record.jsonl"), "utf8").trimEnd().split("\n");
    } catch {
      return [];
    }
  }

  /** Tell a story with a client in the workspace `ws_here`; its gateway ends with it. */
  async tell(story: (gateway: Gateway) => Promise<void>): Promise<void> {
    let gateway: Gateway | undefined;
    try {
      gateway = await this.open();
      if (way === "http") await gateway.call("workspace/create", { workspace_id: "ws_here" });
      await story(gateway);
    } finally {
      await gateway?.[Symbol.asyncDispose]();
      await this.#endDoor("SIGTERM");
    }
  }

  async open(): Promise<Gateway> {
    if (way === "pipes") {
      const { home } = this;
      return await Gateway.spawn({ command, home, workspace: "ws_here", arguments: ["--config", this.#config] });
    }
    await this.#startDoor();
    const token = readFileSync(join(this.home, "http", "token"), "utf8");
    return await Gateway.connect({ url: this.url, token, workspace: "ws_here" });
  }

  /** End the gateway as a crash would; a door is opened again at its port. */
  async kill(gateway: Gateway): Promise<void> {
    if (gateway.pid !== undefined) {
      process.kill(gateway.pid, "SIGKILL");
      return;
    }
    await this.#endDoor("SIGKILL");
    await this.#startDoor();
  }

  async #startDoor(): Promise<void> {
    const [program = "", ...rest] = command;
    const where = ["--home", this.home, "--config", this.#config, "--port", this.#port];
    const door = spawn(program, [...rest, "http", ...where], { stdio: ["ignore", "pipe", "inherit"] });
    this.#door = door;
    let said = "";
    for await (const part of door.stdout) {
      said += String(part);
      const found = LISTENS.exec(said);
      if (found === null) continue;
      [, this.url = "", this.#port = ""] = found;
      return;
    }
    throw new Error(`the door did not open: ${said}`);
  }

  async #endDoor(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const door = this.#door;
    this.#door = undefined;
    if (door === undefined) return;
    const ended = once(door, "exit");
    door.kill(signal);
    await ended;
  }
}

/** Return the parameters of the next notification or event of a name. */
export function next<N extends keyof Events>(gateway: Gateway, name: N): Promise<Events[N]> {
  return new Promise((resolve) => {
    gateway.on(name, resolve);
  });
}

/** Return the parameters of a turn in the thread `thr_1`. */
export function question(turnId?: string): TurnStartParams {
  return { thread_id: "thr_1", turn_id: turnId ?? null, input: [{ type: "text", text: "How do I take my coffee?" }] };
}
