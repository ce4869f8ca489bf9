import { setTimeout as pause } from 'node:timers/promises';
import { path } from '../client.ts';
import type { Invocation } from '../command.ts';

/** Milliseconds between two looks at a run. */
const interval = 1_000;

/** Prints what nodes of a run are at, on standard error, whenever that changes, until the signal ends it. */
export function followProgress(
  { client, stderr }: Pick<Invocation, 'client' | 'stderr'>,
  run: string | undefined,
  signal: AbortSignal,
): void {
  if (run === undefined) return;
  const last = new Map<string, string>();
  const look = async (): Promise<void> => {
    while (!signal.aborted) {
      const { underWay = {} } = (await client.get(path('runs', run), { aside: true })) as {
        readonly underWay?: Readonly<Record<string, string>>;
      };
      for (const [node, sentence] of Object.entries(underWay)) {
        if (last.get(node) === sentence || signal.aborted) continue;
        last.set(node, sentence);
        stderr.line(`${node}: ${sentence}`);
      }
      await pause(interval, undefined, { signal });
    }
  };
  // Whoever may not look at runs sees the results alone.
  void look().catch(() => undefined);
}
