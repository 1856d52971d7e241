/** What both ways to a gateway have in common. */

import { GatewayError, type Failure } from "./errors.ts";

/** Takes each notification: its name and its parameters. */
export type Take = (method: string, params: unknown) => void;

/** An answer or a notification. */
export interface Message {
  id?: number | string | null;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: Failure;
}

/** One process, or one open event stream; it is not used again once it has ended. */
export interface Connection {
  /** Fulfilled with the reason why no more can come. */
  readonly ended: Promise<string>;
  readonly hasEnded: boolean;
  /** The id of the process; undefined over HTTP. */
  readonly pid: number | undefined;
  /**
   * Return the result of a method. A call that is aborted is cancelled at the gateway, too, and rejects with the
   * signal's reason. Rejects with `GatewayError` for an error, with `GatewayDied` where no answer can come.
   */
  ask(method: string, params: object, signal: AbortSignal): Promise<unknown>;
  /** End in order, and wait for the end. */
  close(): Promise<void>;
  /** End at once, and wait for the end. */
  kill(): Promise<void>;
}

/** The end of a connection: it comes once, with a reason. */
export class End {
  reason: string | undefined;
  readonly promise: Promise<string>;
  #resolve: (reason: string) => void = () => undefined;

  constructor() {
    this.promise = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Note the reason; the first one counts. Return whether this was it. */
  note(reason: string): boolean {
    if (this.reason !== undefined) return false;
    this.reason = reason;
    this.#resolve(reason);
    return true;
  }
}

/** Collects bytes into lines of any length, without their ends. */
export class LineSplitter {
  #parts: Buffer[] = [];

  /** Return the lines that these bytes complete, blank ones too. */
  feed(data: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = data.indexOf(10); end !== -1; end = data.indexOf(10, start)) {
      this.#parts.push(data.subarray(start, end));
      const line = Buffer.concat(this.#parts).toString("utf8");
      lines.push(line.endsWith("\r") ? line.slice(0, -1) : line);
      this.#parts = [];
      start = end + 1;
    }
    if (start < data.length) this.#parts.push(data.subarray(start));
    return lines;
  }
}

/** Return a message. Throws `SyntaxError` for what is none. */
export function readMessage(text: string): Message {
  const message: unknown = JSON.parse(text);
  if (typeof message !== "object" || message === null || Array.isArray(message)) {
    throw new SyntaxError("this is no message");
  }
  return message;
}

/** Return an answer's result. Throws `GatewayError`. */
export function unwrap(message: Message): unknown {
  if (message.error !== undefined) throw new GatewayError(message.error);
  return message.result ?? null;
}

/** Return the text of what was thrown. */
export function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What may end a piece of work early. */
export interface Limits {
  signals: ReadonlyArray<AbortSignal | undefined>;
  timeoutMs?: number | undefined;
}

/**
 * Do a piece of work under one signal that follows others and a time; all are released at its end.
 *
 * Not by `AbortSignal.any` and `AbortSignal.timeout`: their signals may be collected before they fire, in early
 * releases of Node 20.
 */
export async function under<T>(limits: Limits, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const own = new AbortController();
  const { timeoutMs } = limits;
  const late = (): void => {
    own.abort(new DOMException(`no answer within ${String(timeoutMs)} ms`, "TimeoutError"));
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
  const followed = limits.signals.map((signal) => {
    const listener = (): void => {
      own.abort(signal?.reason);
    };
    if (signal?.aborted === true) listener();
    signal?.addEventListener("abort", listener, { once: true });
    return { signal, listener };
  });
  try {
    return await work(own.signal);
  } finally {
    clearTimeout(timer);
    for (const { signal, listener } of followed) signal?.removeEventListener("abort", listener);
  }
}
