/**
 * A gateway behind `pioneer http`: each call is a request of its own, notifications come by one event stream.
 *
 * Rule 1: the connection is the event stream: it ends with the stream, and with a request that the door did not answer.
 * Rule 2: the place in the stream outlives a connection, so that the next one goes on there.
 * Rule 3: each request has its own socket: one that was kept open may be closed by the door as it is used again.
 */

import { request as plainRequest, type IncomingMessage } from "node:http";
import { request as secureRequest } from "node:https";

import {
  describe,
  End,
  LineSplitter,
  readMessage,
  under,
  unwrap,
  type Connection,
  type Message,
  type Take,
} from "./connection.ts";
import { GatewayDied } from "./errors.ts";

/** The door sends a comment every 15 seconds; a stream that is quiet for longer than this is dead. */
const QUIET_MS = 60_000;

/** A request: its verb, its path below the door's address, and what it sends. */
interface Sent {
  verb: "GET" | "POST";
  path: string;
  body?: string;
  headers?: { [name: string]: string };
  signal?: AbortSignal | undefined;
}

/** What each request says of the client. */
export interface Sender {
  token: string;
  workspaceId?: string | undefined;
  timeZone?: string | undefined;
}

/** The address of a door, what each request says, and the id of the last event that came. */
export class Door {
  lastEventId: string | undefined;
  readonly workspaceId: string | undefined;
  readonly #url: URL;
  readonly #headers: { [name: string]: string };

  /** Throws `TypeError` where the address is not one of http or https. */
  constructor(url: string, sender: Sender) {
    if (!/^https?:\/\//.test(url)) throw new TypeError(`${url} is no http or https address`);
    this.#url = new URL(url);
    this.workspaceId = sender.workspaceId;
    this.#headers = { Authorization: `Bearer ${sender.token}` };
    if (sender.workspaceId !== undefined) this.#headers["X-Pioneer-Workspace"] = sender.workspaceId;
    if (sender.timeZone !== undefined) this.#headers["X-Pioneer-Time-Zone"] = sender.timeZone;
  }

  /** Send a request and return its reply once the head is there. Rejects with the error of the socket or the signal. */
  request(sent: Sent): Promise<IncomingMessage> {
    const headers: { [name: string]: string } = { ...this.#headers, ...sent.headers };
    if (sent.body !== undefined) {
      headers["Content-Type"] = "application/json";
      headers["Content-Length"] = String(Buffer.byteLength(sent.body));
    }
    const start = this.#url.protocol === "https:" ? secureRequest : plainRequest;
    const path = this.#url.pathname.replace(/\/$/, "") + sent.path;
    return new Promise((resolve, reject) => {
      let isAnswered = false;
      const request = start(this.#url, {
        agent: false,
        headers,
        method: sent.verb,
        path,
        ...(sent.signal === undefined ? {} : { signal: sent.signal }),
      });
      request.on("error", (error) => {
        if (!isAnswered) reject(error); // what refuses a body answers before it has read it
      });
      request.on("response", (reply) => {
        isAnswered = true;
        resolve(reply);
      });
      request.end(sent.body);
    });
  }
}

/** An open event stream, beside which calls are made. */
export class EventConnection implements Connection {
  readonly pid = undefined;
  readonly #door: Door;
  readonly #stream: IncomingMessage;
  readonly #take: Take;
  readonly #end = new End();
  /** Aborted by `close`: it ends the calls that are open. */
  readonly #closing = new AbortController();
  #event: { [name: string]: string } = {};

  private constructor(door: Door, stream: IncomingMessage, take: Take) {
    this.#door = door;
    this.#stream = stream;
    this.#take = take;
    const lines = new LineSplitter();
    stream.setTimeout(QUIET_MS, () => stream.destroy(new Error("nothing came for a minute")));
    stream.on("data", (data: Buffer) => {
      this.#read(lines.feed(data));
    });
    stream.on("error", (error) => {
      this.#finish(`the event stream broke: ${error.message}`);
    });
    stream.on("close", () => {
      this.#finish("the event stream ended");
    });
  }

  /** Open the stream where the last one ended. Rejects with `GatewayDied` or `GatewayError`. */
  static async open(door: Door, take: Take): Promise<EventConnection> {
    const path =
      door.workspaceId === undefined ? "/events" : `/events?workspace_id=${encodeURIComponent(door.workspaceId)}`;
    const headers: { [name: string]: string } =
      door.lastEventId === undefined ? {} : { "Last-Event-ID": door.lastEventId };
    let refusal: string;
    let status: number | undefined;
    try {
      const stream = await door.request({ verb: "GET", path, headers });
      if (stream.statusCode === 200) return new EventConnection(door, stream, take);
      status = stream.statusCode;
      refusal = await readBody(stream);
    } catch (error) {
      throw new GatewayDied(`the door does not answer: ${describe(error)}`, { cause: error });
    }
    unwrap(readAnswer(refusal));
    throw new GatewayDied(`the door answers ${String(status)} instead of events`);
  }

  get ended(): Promise<string> {
    return this.#end.promise;
  }

  get hasEnded(): boolean {
    return this.#end.reason !== undefined;
  }

  async ask(method: string, params: object, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    if (this.#end.reason !== undefined) throw new GatewayDied(this.#end.reason);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    let answer: string;
    try {
      answer = await under({ signals: [signal, this.#closing.signal] }, async (either) => {
        return await readBody(await this.#door.request({ verb: "POST", path: "/rpc", body, signal: either }));
      });
    } catch (error) {
      signal.throwIfAborted();
      this.#finish(`the door did not answer: ${describe(error)}`);
      throw new GatewayDied(this.#end.reason, { cause: error });
    }
    return unwrap(readAnswer(answer));
  }

  async close(): Promise<void> {
    this.#finish("the client is closed");
    this.#closing.abort();
    await this.ended;
  }

  async kill(): Promise<void> {
    await this.close();
  }

  #finish(reason: string): void {
    if (this.#end.note(reason)) this.#stream.destroy();
  }

  #read(lines: readonly string[]): void {
    try {
      for (const line of lines) {
        const [name = "", ...value] = line.split(": ");
        if (line === "") this.#receive();
        else this.#event[name] = value.join(": ");
      }
    } catch {
      this.#finish("the event stream has what is no event");
    }
  }

  #receive(): void {
    const { id, event, data } = this.#event;
    this.#event = {};
    if (id === undefined || event === undefined) return; // a comment, or the farewell of a door that closes
    this.#door.lastEventId = id;
    this.#take(event, JSON.parse(data ?? "{}"));
  }
}

async function readBody(reply: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of reply) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}

/** Return the answer of a door, whatever its status. Throws `GatewayDied` for what is no answer. */
function readAnswer(body: string): Message {
  try {
    return readMessage(body);
  } catch (error) {
    throw new GatewayDied("what answers there is no gateway", { cause: error });
  }
}
