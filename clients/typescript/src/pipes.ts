/**
 * A spawned gateway, and the messages that go through its pipes.
 *
 * Rule 1: one listener reads. It gives every answer to its call and, at the end, fails every call that still waits.
 * Rule 2: what the process writes to stderr never makes it wait.
 */

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";

import {
  describe,
  End,
  LineSplitter,
  readMessage,
  unwrap,
  type Connection,
  type Message,
  type Take,
} from "./connection.ts";
import { GatewayDied } from "./errors.ts";

/** An orderly end takes the gateway's two seconds of grace at most; a process that lives longer is killed. */
const CLOSE_MS = 10_000;

/** Bytes: enough for the log's last words. */
const STDERR_KEPT = 64 * 1024;

/** The environment and the folder of a process; those of this process where they are undefined. */
export interface Surroundings {
  env?: { [name: string]: string | undefined } | undefined;
  cwd?: string | undefined;
}

interface Waiting {
  resolve: (message: Message) => void;
  reject: (error: Error) => void;
  size: number;
}

/** A process. */
export class Pipes implements Connection {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #take: Take;
  readonly #end = new End();
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #stderr = Buffer.alloc(0);
  #isGarbled = false;

  private constructor(child: ChildProcessWithoutNullStreams, take: Take) {
    this.#process = child;
    this.#take = take;
    const lines = new LineSplitter();
    child.stdout.on("data", (data: Buffer) => {
      this.#read(lines.feed(data));
    });
    child.stderr.on("data", (data: Buffer) => {
      this.#stderr = Buffer.concat([this.#stderr, data]).subarray(-STDERR_KEPT);
    });
    child.stdin.on("error", () => undefined); // it reads no more: its end, which follows, fails the calls
    child.on("error", () => undefined); // a signal that came too late
    child.on("close", (code, signal) => {
      this.#finish(this.#isGarbled ? "it wrote to stdout what is no message" : this.#describeEnd(code, signal));
    });
  }

  /** Spawn a command. Rejects with `GatewayDied` where there is no such program. */
  static async spawn(command: readonly string[], take: Take, surroundings: Surroundings): Promise<Pipes> {
    const [program = "", ...rest] = command;
    try {
      const child = spawn(program, rest, { ...surroundings, stdio: "pipe", windowsHide: true });
      await once(child, "spawn");
      return new Pipes(child, take);
    } catch (error) {
      throw new GatewayDied(`${program} cannot be started: ${describe(error)}`, { cause: error });
    }
  }

  get ended(): Promise<string> {
    return this.#end.promise;
  }

  get hasEnded(): boolean {
    return this.#end.reason !== undefined;
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  async ask(method: string, params: object, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    const id = ++this.#lastId;
    const line = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    const cancel = (): void => {
      this.#waiting.get(id)?.reject(signal.reason as Error);
      this.#write(JSON.stringify({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id } }));
    };
    try {
      const answer = new Promise<Message>((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject, size: line.length });
      });
      this.#send(line);
      signal.addEventListener("abort", cancel, { once: true });
      return unwrap(await answer);
    } finally {
      signal.removeEventListener("abort", cancel);
      this.#waiting.delete(id);
    }
  }

  async close(): Promise<void> {
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), CLOSE_MS);
    try {
      await this.ask("shutdown", {}, new AbortController().signal);
      this.#send(JSON.stringify({ jsonrpc: "2.0", method: "exit" }));
    } catch {
      this.#process.kill("SIGKILL"); // it is gone, or refuses to go
    }
    await this.ended;
    clearTimeout(timer);
  }

  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.ended;
  }

  #send(line: string): void {
    if (this.#end.reason !== undefined) throw new GatewayDied(this.#end.reason);
    this.#write(line);
  }

  #write(line: string): void {
    if (this.#process.stdin.writable) this.#process.stdin.write(`${line}\n`);
  }

  #read(lines: readonly string[]): void {
    if (this.#isGarbled) return;
    try {
      for (const line of lines) {
        if (line !== "") this.#receive(readMessage(line));
      }
    } catch {
      this.#isGarbled = true; // a process that writes anything else cannot be trusted with calls
      this.#process.kill("SIGKILL");
    }
  }

  #receive(message: Message): void {
    if (message.method !== undefined) this.#take(message.method, message.params ?? {});
    else if (typeof message.id === "number") this.#waiting.get(message.id)?.resolve(message);
    else this.#answerLongest(message);
  }

  /** Give an answer without a number, as one to a line that is too long has, to the longest call that waits. */
  #answerLongest(message: Message): void {
    const [longest] = [...this.#waiting.values()].sort((one, other) => other.size - one.size);
    longest?.resolve(message);
  }

  #finish(reason: string): void {
    this.#end.note(reason); // first: a call that is asked again must not be asked here
    for (const waiting of this.#waiting.values()) waiting.reject(new GatewayDied(reason));
  }

  #describeEnd(code: number | null, signal: string | null): string {
    const last = this.#stderr.toString("utf8").trim().split("\n").at(-1) ?? "";
    const how = signal === null ? `with code ${String(code)}` : `by ${signal}`;
    return `the process ended ${how}${last === "" ? "" : `: ${last}`}`;
  }
}
