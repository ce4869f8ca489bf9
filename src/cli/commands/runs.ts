import { setTimeout as sleep } from 'node:timers/promises';
import { path } from '../client.ts';
import { UsageError } from '../client-errors.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import { foldNames } from '../nodes/fold.ts';
import { oneOf, operandsOf, ownCommand } from '../own/own-command.ts';

const usage = `Usage: muster runs show ID
       muster runs attach ID
       muster runs cancel ID

A run is the work of one command; --detach prints its ID, and every reply has it in the header X-Muster-Run. show tells what is
known of it, attach writes its results as they come, from the first on, and cancel ends it. Ctrl-C ends attach, not the run.
muster events --kinds run tells of runs as they begin and end.

  --format json|ndjson   of show the whole, of attach one line per node`;

interface Run {
  readonly id: string;
  readonly command: string;
  readonly user: string;
  readonly nodes: number;
  readonly ok: number;
  readonly failed: number;
  readonly errorcode: number;
  readonly state: string;
  readonly started: string;
  readonly finished?: string;
  readonly results?: readonly { readonly node: string; readonly value?: unknown; readonly error?: string }[];
  readonly progress?: { readonly line: string };
  readonly lines?: readonly string[];
  readonly error?: readonly string[];
  readonly note?: string;
}

export const command: CliCommand = ownCommand(usage, { format: 'value' }, async (invocation, options) => {
  const { client, stdout } = invocation;
  const [what = '', id = ''] = operandsOf(options, 2, 2, 'Say show, attach or cancel, and the ID of the run.');
  const format = oneOf('--format', options.value('format'), ['json', 'ndjson'] as const);
  switch (what) {
    case 'show': {
      const run = (await client.get(path('runs', id))) as Run;
      if (format) stdout.line(JSON.stringify(run, null, format === 'json' ? 2 : 0));
      else stdout.line(headOf(run));
      return 0;
    }
    case 'cancel':
      await client.call('DELETE', path('runs', id));
      return 0;
    case 'attach':
      return attach(invocation, id, format);
    default:
      throw new UsageError(`There is no "muster runs ${what}"; there are show, attach and cancel.`);
  }
});

const headOf = ({ id, command: name, user, state, nodes, ok, failed, started, finished, progress }: Run): string => {
  const counts = nodes > 0 ? `, ${ok} of ${nodes} nodes well, ${failed} failed` : '';
  const line = progress ? `, ${progress.line}` : '';
  return `${id}  ${name} by ${user}  ${state}${counts}${line}  ${started}${finished === undefined ? '' : ` to ${finished}`}`;
};

const [shortest, longest] = [100, 2_000];

async function attach({ client, stdout, stderr, signal }: Invocation, id: string, format?: string): Promise<number> {
  let told = 0;
  let lastLine = '';
  for (let wait = shortest; ; wait = Math.min(longest, wait * 1.5)) {
    const run = (await client.get(path('runs', id), { signal })) as Run;
    const results = run.results ?? [];
    for (const result of results.slice(told)) {
      if (format) await stdout.line(JSON.stringify(result));
      else if (result.error !== undefined) await stderr.line(`${result.node}: Error: ${result.error}`);
      else for (const line of linesOf(result.value)) await stdout.line(`${result.node}: ${line}`);
    }
    if (results.length > told) wait = shortest;
    told = Math.max(told, results.length);
    const line = run.progress?.line ?? '';
    if (line !== '' && line !== lastLine && !format) await stdout.line((lastLine = line));
    if (run.state !== 'running') return end(run);
    await stdout.flush();
    await sleep(wait, undefined, { signal });
  }

  function end(run: Run): number {
    for (const sentence of run.error ?? []) stderr.line(`muster runs: ${sentence}`);
    if (run.note !== undefined) stderr.line(`muster runs: ${run.note}`);
    const failed = (run.results ?? []).filter(({ error }) => error !== undefined).map(({ node }) => node);
    if (failed.length > 0) stderr.line(`Failed: ${foldNames(failed)}`);
    if (run.state !== 'finished') stderr.line(`muster runs: The run was ${run.state}.`);
    return run.state === 'finished' && run.failed === 0 && !run.error?.length && run.errorcode === 0 ? 0 : 1;
  }
}

function linesOf(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  if (typeof value === 'string') return value.replace(/\n$/, '').split('\n');
  if (Array.isArray(value)) return value.flatMap(linesOf);
  if (typeof value !== 'object') return [JSON.stringify(value)];
  return Object.entries(value).flatMap(([label, each]) => linesOf(each).map((line) => `${label}: ${line}`));
}
