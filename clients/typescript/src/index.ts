/** A typed client of the Pioneer gateway, the memory of assistants: over pipes or HTTP. */

export { GatewayDied, GatewayError, type Reason } from "./errors.ts";
export {
  Gateway,
  type CallOptions,
  type ClientEvents,
  type ConnectOptions,
  type Events,
  type SpawnOptions,
} from "./gateway.ts";
export type { Notice, TurnNotificationName } from "./turns.ts";
export { PROTOCOL_VERSION, SAFE_TO_REPEAT } from "./types.ts";
export type * from "./types.ts";
