/** The two errors of a call. */

import type { ErrorReason } from "./types.ts";

/** The `error` member of an answer, as far as a client needs it. */
export interface Failure {
  code: number;
  message: string;
  data?: {
    reason?: string;
    retryable?: boolean;
    details?: { [name: string]: unknown } | null;
    incident_id?: string | null;
  };
}

/** A reason of the contract, or one that only a door or a newer gateway has. */
export type Reason = ErrorReason | (string & {});

/** The gateway answered with an error. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  /** The code of JSON-RPC. */
  readonly code: number;
  /** The word that programs go by; `Methods[M]["errors"]` lists those of a method. */
  readonly reason: Reason;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** What the gateway says of the request; null where it says nothing. */
  readonly details: { [name: string]: unknown } | null;
  /** The id under which a defect stands in the gateway's log. */
  readonly incidentId: string | null;

  constructor(failure: Failure) {
    const data = failure.data ?? {};
    const reason = data.reason ?? "";
    super(`${reason} (${failure.code}): ${failure.message}`);
    this.code = failure.code;
    this.reason = reason;
    this.retryable = data.retryable ?? false;
    this.details = data.details ?? null;
    this.incidentId = data.incident_id ?? null;
  }
}

/** No answer can come: the process ended, the connection broke, or the client is closed. */
export class GatewayDied extends Error {
  override readonly name = "GatewayDied";
}
