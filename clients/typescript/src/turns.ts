/** The notifications of a turn, and those of them that wait for their reader. */

import { GatewayDied } from "./errors.ts";
import type { NotificationName, Notifications } from "./types.ts";
import { makeSleep } from "./waits.ts";

/** A notification: its name and its parameters. */
export type Notice<N extends NotificationName = NotificationName> = {
  [M in N]: { method: M; params: Notifications[M] };
}[N];

/** The members of every notification of a turn: `seq` counts them from 1 without a gap. */
export interface TurnEvent {
  thread_id: string;
  turn_id: string;
  seq: number;
}

/** The names of the notifications that belong to a turn. */
export type TurnNotificationName = {
  [N in NotificationName]: Notifications[N] extends TurnEvent ? N : never;
}[NotificationName];

/** The notifications with which a turn ends. */
export const TURN_ENDS: ReadonlySet<string> = new Set<TurnNotificationName>([
  "turn/completed",
  "turn/failed",
  "turn/cancelled",
]);

/** What comes of a turn that is read, until its end. */
export class Inbox {
  readonly #notices: Array<Notice<TurnNotificationName> | GatewayDied> = [];
  #wake: () => void = () => undefined;

  get isEmpty(): boolean {
    return this.#notices.length === 0;
  }

  put(notice: Notice<TurnNotificationName> | GatewayDied): void {
    this.#notices.push(notice);
    this.#wake();
  }

  /** Return the next notice. Rejects with the `GatewayDied` that was put. */
  async next(): Promise<Notice<TurnNotificationName>> {
    let notice = this.#notices.shift();
    while (notice === undefined) {
      const { promise, wake } = makeSleep();
      this.#wake = wake;
      await promise;
      notice = this.#notices.shift();
    }
    if (notice instanceof GatewayDied) throw notice;
    return notice;
  }
}

/** Return whether parameters are those of a notification of a turn. */
export function isTurnEvent(params: unknown): params is TurnEvent {
  return typeof params === "object" && params !== null && "turn_id" in params && "seq" in params;
}
