/** Waiting: for a time, or to be woken. */

/** Milliseconds before a new process; each one doubles them, until one has lived for the longest wait. */
const FIRST_WAIT_MS = 250;
export const LONGEST_WAIT_MS = 30_000;

/** Yield the milliseconds before each try of a row, without end. */
export function* makeWaits(): Generator<number, never> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) yield wait;
}

/** A promise, and what fulfils it. */
export interface Sleep {
  readonly promise: Promise<void>;
  readonly wake: () => void;
}

export function makeSleep(): Sleep {
  let wake = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    wake = resolve;
  });
  return { promise, wake };
}

/** Wait until a sleeper is woken. Rejects with the signal's reason once that is aborted. */
export async function untilWoken({ promise, wake }: Sleep, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  signal.addEventListener("abort", wake, { once: true });
  await promise;
  signal.removeEventListener("abort", wake);
  signal.throwIfAborted();
}

/** Wait for a time. Rejects with the signal's reason once that is aborted. */
export async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  const sleeper = makeSleep();
  const timer = setTimeout(sleeper.wake, milliseconds);
  await untilWoken(sleeper, signal).finally(() => clearTimeout(timer));
}
