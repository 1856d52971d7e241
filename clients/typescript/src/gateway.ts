/**
 * The client: calls, notifications, turns, and a new process after a crash.
 *
 * Rule 1: `types.ts` is the only source of types; this module knows the handshake and the methods of a turn.
 * Rule 2: what was sent and not answered fails with `GatewayDied`; only reads are asked again, once, by themselves.
 * Rule 3: a call that is made while there is no gateway waits for the next one.
 */

import { randomBytes } from "node:crypto";

import { describe, under, type Connection, type Take } from "./connection.ts";
import { GatewayDied, GatewayError } from "./errors.ts";
import { Door, EventConnection } from "./http.ts";
import { Pipes } from "./pipes.ts";
import { Inbox, isTurnEvent, TURN_ENDS, type Notice, type TurnNotificationName } from "./turns.ts";
import {
  PROTOCOL_VERSION,
  SAFE_TO_REPEAT,
  type ClientInfo,
  type InitializeParams,
  type InitializeResult,
  type InterruptedTurn,
  type MethodName,
  type Methods,
  type Notifications,
  type TurnStartParams,
} from "./types.ts";
import { LONGEST_WAIT_MS, makeSleep, makeWaits, sleep, untilWoken } from "./waits.ts";

const HANDSHAKE_MS = 60_000;

const GAP = "pioneer/gap";

const ME: ClientInfo = { name: "@pioneer-gateway/client", version: "0.1.0" };

/** Events of the client itself. */
export interface ClientEvents {
  /** A connection ended, or a try to make one failed. */
  died: { reason: string };
  /** There is a connection again; these turns the end of the last one interrupted. */
  restarted: { interruptedTurns: InterruptedTurn[] };
  /** Over HTTP: events were missed; how many, or null where that is not known. */
  "pioneer/gap": { missed: number | null };
}

/** What `on` tells of: the gateway's notifications and the client's own events. */
export type Events = Notifications & ClientEvents;

export interface CallOptions {
  /** Cancels the call, at the gateway too; it rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Rejects with a `TimeoutError` after so many milliseconds. Without it a call waits as long as it takes. */
  timeoutMs?: number | undefined;
}

interface Options {
  /** The workspace of all that names none. */
  workspace?: string | undefined;
  /** The name of this program, and its time zone. */
  client?: ClientInfo | undefined;
  /** Whether a connection that ends is followed by another one; true where it is left out. */
  restart?: boolean | undefined;
}

export interface SpawnOptions extends Options {
  /** The program, and what stands before `serve`: `"pioneer"` where it is left out. */
  command?: string | readonly string[] | undefined;
  /** The folder of the memory; where it is left out, the gateway has its own. */
  home?: string | undefined;
  /** More options of `serve`. */
  arguments?: readonly string[] | undefined;
  /** The environment of the process; that of this one where it is left out. */
  env?: { [name: string]: string | undefined } | undefined;
  /** The folder of the process; that of this one where it is left out. */
  cwd?: string | undefined;
}

export interface ConnectOptions extends Options {
  /** The address that `pioneer http` prints. */
  url: string;
  /** What `pioneer token show http` prints. */
  token: string;
}

type Open = (take: Take) => Promise<Connection>;
type Listener = (params: never) => unknown;

/** A gateway, and the conversation with it. Made by `spawn` or `connect`; ends with `close`. */
export class Gateway {
  readonly #openConnection: Open;
  readonly #hello: InitializeParams;
  readonly #restart: boolean;
  readonly #listeners = new Map<string, Set<Listener>>();
  /** What comes of the turns that are read, by turn. */
  readonly #watched = new Map<string, Inbox>();
  /** Turns that were read when the gateway went. */
  readonly #broken = new Set<string>();
  /** The calls that wait for a connection. */
  readonly #sleepers = new Set<() => void>();
  /** Aborted by `close`: it ends the waiting for a new connection. */
  readonly #closing = new AbortController();
  #connection: Connection | undefined;
  #handshake: InitializeResult | undefined;
  #end: string | undefined;
  #supervisor: Promise<void> = Promise.resolve();

  private constructor(open: Open, options: Options) {
    this.#openConnection = open;
    this.#restart = options.restart ?? true;
    this.#hello = {
      protocol_version: PROTOCOL_VERSION,
      client: options.client ?? ME,
      workspace_id: options.workspace ?? null,
    };
  }

  /**
   * Spawn `command serve --home HOME`, and shake hands.
   *
   * Rejects with `GatewayDied` where the process does not start, or ends before it answers: the message has its last
   * words. Rejects with `GatewayError` where it refuses the handshake.
   */
  static async spawn(options: SpawnOptions = {}): Promise<Gateway> {
    const { command = "pioneer", home, env, cwd } = options;
    const program = typeof command === "string" ? [command] : command;
    const where = home === undefined ? [] : ["--home", home];
    const line = [...program, "serve", ...where, ...(options.arguments ?? [])];
    return await new Gateway((take) => Pipes.spawn(line, take, { env, cwd }), options).#begin();
  }

  /**
   * Speak to `pioneer http`.
   *
   * Rejects with `GatewayDied` where nothing answers, or no gateway, with `GatewayError` where the token or the request
   * is refused, and with `TypeError` where the address is not one of http or https.
   */
  static async connect(options: ConnectOptions): Promise<Gateway> {
    const { url, token, workspace, client } = options;
    const door = new Door(url, { token, workspaceId: workspace, timeZone: client?.time_zone ?? undefined });
    return await new Gateway((take) => EventConnection.open(door, take), options).#begin();
  }

  /** The gateway's newest answer to `initialize`: version, capabilities, limits. */
  get handshake(): InitializeResult {
    if (this.#handshake === undefined) throw new GatewayDied("no handshake was made");
    return this.#handshake;
  }

  /** The id of the spawned process; undefined over HTTP, and while there is none. */
  get pid(): number | undefined {
    return this.#connection?.hasEnded === false ? this.#connection.pid : undefined;
  }

  /**
   * Call a method; its parameters and its result are typed by its name.
   *
   * Rejects with `GatewayError` for an error, with `GatewayDied` where the gateway went before it answered (whether the
   * method was done is not known), and with the signal's reason or a `TimeoutError` for a call that was cancelled.
   */
  async call<M extends MethodName>(
    method: M,
    params: Methods[M]["params"],
    options: CallOptions = {},
  ): Promise<Methods[M]["result"]> {
    return await under({ signals: [options.signal], timeoutMs: options.timeoutMs }, async (signal) => {
      try {
        return (await this.#ask(method, params, signal)) as Methods[M]["result"];
      } catch (error) {
        if (!(error instanceof GatewayDied && this.#restart && SAFE_TO_REPEAT.has(method))) throw error;
        return (await this.#ask(method, params, signal)) as Methods[M]["result"];
      }
    });
  }

  /** Call a function with the parameters of each notification or event of a name; return what ends that. */
  on<N extends keyof Events>(name: N, listener: (params: Events[N]) => unknown): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    const own: Listener = (params) => listener(params);
    this.#listeners.set(name, listeners.add(own));
    return () => {
      listeners.delete(own);
    };
  }

  /**
   * Start a turn and yield its notifications, up to `turn/completed`, `turn/failed` or `turn/cancelled`.
   *
   * A turn that exists already yields nothing where it has ended. To stop reading does not stop the turn: `turn/cancel`
   * does. Throws `GatewayError` where the turn does not begin, and `GatewayDied` where the gateway went or, over HTTP,
   * events were lost; `turn/get` knows how the turn ended.
   */
  async *turn(params: TurnStartParams): AsyncGenerator<Notice<TurnNotificationName>, void, void> {
    const turnId = params.turn_id ?? `trn_${randomBytes(12).toString("hex")}`;
    const inbox = new Inbox();
    this.#watched.set(turnId, inbox);
    try {
      const { turn } = await this.call("turn/start", { ...params, turn_id: turnId });
      let isOver = turn.status !== "in_progress" && inbox.isEmpty;
      while (!isOver) {
        const notice = await inbox.next();
        yield notice;
        isOver = TURN_ENDS.has(notice.method);
      }
    } finally {
      if (this.#watched.get(turnId) === inbox) this.#watched.delete(turnId);
    }
  }

  /** End the session; a spawned gateway ends with it, within ten seconds. A second time does nothing. */
  async close(): Promise<void> {
    this.#end ??= "the client is closed";
    this.#closing.abort();
    await this.#connection?.close();
    await this.#supervisor;
    this.#breakOff(this.#end);
    this.#wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #begin(): Promise<this> {
    this.#supervisor = this.#supervise(await this.#open());
    return this;
  }

  /** Open a connection, shake hands, and use it from now on. Rejects with `GatewayDied`, `GatewayError`. */
  async #open(): Promise<Connection> {
    const connection = await this.#openConnection((method, params) => {
      this.#take(method, params);
    });
    try {
      const limits = { signals: [this.#closing.signal], timeoutMs: HANDSHAKE_MS };
      const answer = await under(limits, (signal) => connection.ask("initialize", this.#hello, signal));
      this.#handshake = answer as InitializeResult;
    } catch (error) {
      await connection.kill();
      const isLate = error instanceof DOMException && error.name === "TimeoutError";
      throw isLate ? new GatewayDied("the gateway does not answer initialize", { cause: error }) : error;
    }
    this.#connection = connection;
    this.#wake();
    return connection;
  }

  /** Follow each connection that ends by another one, until `close`. */
  async #supervise(first: Connection): Promise<void> {
    let connection: Connection | undefined = first;
    let waits = makeWaits();
    while (connection !== undefined) {
      const openedAt = performance.now();
      const reason = await connection.ended;
      if (this.#closing.signal.aborted) return;
      this.#lose(reason);
      if (!this.#restart) return;
      if (performance.now() - openedAt >= LONGEST_WAIT_MS) waits = makeWaits();
      connection = await this.#openAgain(waits);
      if (connection !== undefined) {
        this.#emit("restarted", { interruptedTurns: await this.#interruptedTurns(connection) });
      }
    }
  }

  /** Try until a gateway answers; return its connection, or undefined where the client is closed meanwhile. */
  async #openAgain(waits: Generator<number, never>): Promise<Connection | undefined> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await sleep(waits.next().value, signal);
        return await this.#open();
      } catch (error) {
        if (!signal.aborted) this.#emit("died", { reason: describe(error) });
      }
    }
    return undefined;
  }

  /** Return the turns that the handshake names, and those that were read and are interrupted. */
  async #interruptedTurns(connection: Connection): Promise<InterruptedTurn[]> {
    const named = [...this.handshake.interrupted_turns];
    const others = [...this.#broken].filter((turnId) => named.every((one) => one.turn_id !== turnId));
    this.#broken.clear();
    for (const turn_id of others) {
      try {
        const answer = await connection.ask("turn/get", { turn_id }, this.#closing.signal);
        const { turn } = answer as Methods["turn/get"]["result"];
        if (turn.status === "interrupted") named.push({ thread_id: turn.thread_id, turn_id });
      } catch (error) {
        // of a turn that was never stored nothing is known; a connection that went again is the supervisor's
        const isExpected = error instanceof GatewayDied || error instanceof GatewayError;
        if (!isExpected && !this.#closing.signal.aborted) throw error;
      }
    }
    return named;
  }

  async #ask(method: string, params: object, signal: AbortSignal): Promise<unknown> {
    while (this.#connection === undefined || this.#connection.hasEnded) {
      if (this.#end !== undefined) throw new GatewayDied(this.#end);
      await this.#nextConnection(signal);
    }
    return await this.#connection.ask(method, params, signal);
  }

  /** Wait for a connection, or for the end. Rejects with the signal's reason. */
  async #nextConnection(signal: AbortSignal): Promise<void> {
    const sleeper = makeSleep();
    this.#sleepers.add(sleeper.wake);
    await untilWoken(sleeper, signal).finally(() => this.#sleepers.delete(sleeper.wake));
  }

  /** Wake the calls that wait for a connection. */
  #wake(): void {
    for (const wake of this.#sleepers) wake();
  }

  /** Break off the turns that are read, and tell of the end. */
  #lose(reason: string): void {
    if (!this.#restart) this.#end = reason;
    for (const turnId of this.#watched.keys()) this.#broken.add(turnId);
    this.#breakOff(reason);
    this.#emit("died", { reason });
    this.#wake();
  }

  /** Let every turn that is read end with `GatewayDied`. */
  #breakOff(reason: string): void {
    for (const inbox of this.#watched.values()) inbox.put(new GatewayDied(reason));
  }

  #take(method: string, params: unknown): void {
    if (method === GAP) this.#breakOff("events were lost");
    if (isTurnEvent(params)) {
      this.#watched.get(params.turn_id)?.put({ method, params } as Notice<TurnNotificationName>);
    }
    this.#emit(method, params);
  }

  #emit(name: string, params: unknown): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) {
      try {
        listener(params as never);
      } catch (error) {
        // the program's own code: its defect must not end the reading, and must not be silent
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
