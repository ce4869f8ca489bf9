/** Items that are begun before others get a chance to work, unless the caller says otherwise. */
const usualBurst = 256;

/**
 * Works on all items and yields results as they come, those of a turn of the event loop together. At most `width` items count as
 * under way, those that have `begun` no more, so that it can also bound a queue elsewhere. At most `burst` are started in one turn
 * of the event loop. A failure ends it all.
 */
export async function* asTheyCome<Item, Result>(
  items: readonly Item[],
  width: number,
  work: (item: Item, begun: () => void) => Promise<Result>,
  burst = usualBurst,
): AsyncIterable<readonly Result[]> {
  let finished: Result[] = [];
  let broken: { readonly error: unknown } | undefined;
  let wake: (() => void) | undefined;
  let next = 0;
  let counted = 0;
  let inTurn = 0;
  let filling = false;
  let stopped = false;
  const fill = (): void => {
    if (filling) return;
    filling = true;
    while (next < items.length && counted < width && !stopped) {
      if (++inTurn > burst) {
        setImmediate(fillOn);
        return;
      }
      counted++;
      start(items[next++]!);
    }
    filling = false;
  };
  const fillOn = (): void => {
    inTurn = 0;
    filling = false;
    fill();
  };
  const start = (item: Item): void => {
    let counts = true;
    const begun = (): void => {
      if (!counts) return;
      counts = false;
      counted--;
      fill();
    };
    const finish = (result: Result): void => {
      if (finished.push(result) === 1) wake?.();
      begun();
    };
    work(item, begun).then(finish, fail);
  };
  const fail = (error: unknown): void => {
    broken ??= { error };
    wake?.();
  };
  try {
    fill();
    for (let sent = 0; sent < items.length; ) {
      if (finished.length === 0 && !broken) await new Promise<void>((resolve) => (wake = () => setImmediate(resolve)));
      if (broken) throw broken.error;
      const batch = finished;
      finished = [];
      sent += batch.length;
      yield batch;
    }
  } finally {
    stopped = true;
  }
}
