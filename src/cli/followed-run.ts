import { setTimeout as sleep } from 'node:timers/promises';
import type { Seen, StreamLine } from './replies.ts';

interface Run {
  readonly state: string;
  readonly nodes: number;
  readonly ok: number;
  readonly failed: number;
  readonly results?: readonly StreamLine[];
  readonly lines?: readonly string[];
  readonly error?: readonly string[];
}

const [shortest, longest] = [100, 2_000];

/** The rest of a run, as a stream of its results would show it. */
export async function* followedRun(
  show: (id: string) => Promise<unknown>,
  id: string,
  seen: Seen,
): AsyncGenerator<StreamLine> {
  const nodes = new Set(seen.nodes);
  let { line } = seen;
  for (let wait = shortest; ; wait = Math.min(longest, wait * 1.5)) {
    const run = (await show(id)) as Run;
    for (const result of run.results ?? []) {
      if (nodes.has(result.node!)) continue;
      nodes.add(result.node!);
      yield result;
    }
    const { lines = [] } = run;
    for (const each of lines.slice(line === undefined ? 0 : lines.lastIndexOf(line) + 1)) {
      line = each;
      yield { progress: { done: 0, of: 0, line } };
    }
    if (run.state !== 'running') {
      for (const error of run.error ?? []) yield { error };
      if (run.state !== 'finished')
        throw new Error(
          `The connection broke off, and the run ${id} was ${run.state}. muster runs attach ${id} shows what was done.`,
        );
      yield { summary: { nodes: run.nodes, ok: run.ok, failed: run.failed } };
      return;
    }
    await sleep(wait);
  }
}
