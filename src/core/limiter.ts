/** Runs pieces of work, at most so many at a time, in the order they are given. */
type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

export function limiter(width: number): Limiter {
  let queue: (() => void)[] = [];
  /** How many of the queue have had their turn; taking each out of a long list would cost more than the rest. */
  let served = 0;
  let busy = 0;
  const next = (): void => {
    if (served < queue.length) queue[served++]!();
    else {
      busy--;
      queue = [];
      served = 0;
    }
  };
  return async (work) => {
    if (busy < width) busy++;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await work();
    } finally {
      next();
    }
  };
}
