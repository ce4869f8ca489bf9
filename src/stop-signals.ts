/** Signals this soon after the first are the same request: npm sends one on to a child that the terminal has signalled already. */
const sameRequest = 2_000;

export interface StopSignals {
  readonly stop: Promise<void>;
  /** Somebody asked again, and does not want to wait for running requests. */
  readonly hurry: AbortSignal;
}

/** SIGTERM and SIGINT stop the service; neither ever kills it halfway. */
export function stopSignals(): StopSignals {
  const hurry = new AbortController();
  const stop = new Promise<void>((resolve) => {
    let first: number | undefined;
    const heard = (): void => {
      first ??= performance.now();
      resolve();
      if (performance.now() - first > sameRequest) hurry.abort();
    };
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, heard);
  });
  return { stop, hurry: hurry.signal };
}
