/** Works on all items, so many at a time, and tells results in the order they are there. A failure of the work ends it all. */
export async function* asTheyCome<Item, Result>(
  items: readonly Item[],
  width: number,
  work: (item: Item) => Promise<Result>,
): AsyncIterable<Result> {
  let finished: Result[] = [];
  let broken: { readonly error: unknown } | undefined;
  let wake: (() => void) | undefined;
  let begun = 0;
  let stopped = false;
  const next = (): void => {
    if (stopped || begun >= items.length) return;
    work(items[begun++]!).then(finish, fail);
  };
  const finish = (result: Result): void => {
    finished.push(result);
    wake?.();
    next();
  };
  const fail = (error: unknown): void => {
    broken ??= { error };
    wake?.();
  };
  try {
    while (begun < Math.min(width, items.length)) next();
    for (let told = 0; told < items.length; ) {
      if (finished.length === 0 && !broken) await new Promise<void>((resolve) => (wake = resolve));
      if (broken) throw broken.error;
      const batch = finished;
      finished = [];
      told += batch.length;
      yield* batch;
    }
  } finally {
    stopped = true;
  }
}
