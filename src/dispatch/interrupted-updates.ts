import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../core/log.ts';
import type { Servers } from '../database/servers.ts';
import type { NodeStatus } from '../nodes/index.ts';
import type { OpenedRuns } from './open-runs.ts';

/** Milliseconds. */
interface Times {
  /** Between two looks at which servers are there. */
  readonly look: number;
  /** After which a run that has begun is on record with its nodes. */
  readonly record: number;
}

const usualTimes: Times = { look: 5_000, record: 5_000 };

interface Services {
  readonly servers: Pick<Servers, 'list'>;
  readonly openedRuns: Pick<OpenedRuns, 'nodesUnder'>;
  readonly status: Pick<NodeStatus, 'updating' | 'failUpdates'>;
  readonly log: Logger;
}

/**
 * A server that is killed leaves the nodes that it was updating as `syncing`. One of the others looks for them, now and whenever a server
 * has gone: those that no run is working on have failed. Returns what ends that.
 */
export function watchInterruptedUpdates(services: Services, times = usualTimes): () => void {
  const { servers, log } = services;
  const closing = new AbortController();
  let known: ReadonlySet<string> | undefined;
  const look = async (): Promise<void> => {
    const there = new Set((await servers.list()).map(({ id }) => id));
    const isGone = !known || [...known].some((id) => !there.has(id));
    const isCertain = !isGone || (await failInterrupted(services, times, closing.signal));
    known = isCertain ? there : undefined;
  };
  const watch = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await look().catch((error: unknown) => {
        if (!closing.signal.aborted)
          log.warn({ err: error }, 'interrupted updates were not looked for; it is tried again');
      });
      await pause(times.look, undefined, { ref: false, signal: closing.signal }).catch(() => undefined);
    }
  };
  void watch();
  return () => closing.abort();
}

/** False: a server that is not there counts as if it were, since the database was away and it may be on its way back. */
async function failInterrupted(
  { servers, openedRuns, status }: Services,
  { record }: Times,
  signal: AbortSignal,
): Promise<boolean> {
  const updating = status.updating();
  if (updating.size === 0) return true;
  await pause(record, undefined, { ref: false, signal });
  const busy = await openedRuns.nodesUnder('updatenode');
  const isBusy = (node: string): boolean => busy.values().some((nodes) => nodes.has(node));
  await status.failUpdates(new Map([...updating].filter(([node]) => !isBusy(node))));
  const there = new Set((await servers.list()).map(({ id }) => id));
  return busy.keys().every((id) => there.has(id));
}
