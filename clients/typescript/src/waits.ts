/** Waiting: for a time, or to be woken. */

/** Milliseconds before a new process; each one doubles them, until one has lived for the longest wait. */
const FIRST_WAIT_MS = 250;
export const LONGEST_WAIT_MS = 30_000;

/** Yield the milliseconds before each try of a row, without end. */
export function* makeWaits(): Generator<number, never> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) yield wait;
}

/** Return a promise, and what fulfils it. */
export function makeSleep(): { promise: Promise<void>; wake: () => void } {
  let wake = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    wake = resolve;
  });
  return { promise, wake };
}

/** Wait, or until the signal is aborted: then it rejects. */
export async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, wake } = makeSleep();
  const timer = setTimeout(wake, milliseconds);
  signal.addEventListener("abort", wake, { once: true });
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", wake);
  signal.throwIfAborted();
}
