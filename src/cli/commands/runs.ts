import { setTimeout as sleep } from 'node:timers/promises';
import { path } from '../client.ts';
import { UsageError } from '../client-errors.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import { foldNames } from '../nodes/fold.ts';
import { type RemoteOutput, textLines } from '../nodes/remote-lines.ts';
import { oneLine } from '../control-characters.ts';
import { oneOf, operandsOf, ownCommand } from '../own/own-command.ts';

const usage = `Usage: muster runs [--state STATE] [--user USER] [--command COMMAND] [--limit N]
       muster runs show ID
       muster runs attach ID
       muster runs cancel ID

A run is the work of one command; --detach prints its ID, and every reply has it in the header X-Muster-Run. Without an ID the runs
of the last day are listed, the newest first: your own, or everybody's with full rights. show tells what is known of one, attach
writes its lines and results as they come, from the first on, and cancel ends it. Ctrl-C ends attach, not the run.
muster events --kinds run tells of runs as they begin and end.

  --state STATE          only those that are running, finished, cancelled or interrupted
  --user USER            only those of this user
  --command COMMAND      only those of this command, such as rpower
  --limit N              how many at most, up to 1000; usually 100
  --format json|ndjson   of show and of the list the whole, of attach one line per node`;

type Output = RemoteOutput & { readonly notes?: readonly string[] };

interface Result {
  readonly node: string;
  readonly value?: unknown;
  readonly error?: string;
  /** What was printed where it failed. */
  readonly output?: Output;
}

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
  readonly results?: readonly Result[];
  readonly progress?: { readonly line: string };
  readonly lines?: readonly string[];
  readonly linesBefore?: number;
  readonly error?: readonly string[];
  readonly note?: string;
}

const filters = ['state', 'user', 'command', 'limit'] as const;
const valued = { state: 'value', user: 'value', command: 'value', limit: 'value', format: 'value' } as const;

export const command: CliCommand = ownCommand(usage, valued, async (invocation, options) => {
  const { client, stdout } = invocation;
  const format = oneOf('--format', options.value('format'), ['json', 'ndjson'] as const);
  const query = Object.fromEntries(filters.map((name) => [name, options.value(name)] as const));
  const words = operandsOf(options, 0, 2, 'Say show, attach or cancel, and the ID of the run.');
  if (words.length === 0) return list(invocation, query, format);
  const [what = '', id] = words;
  const odd = filters.find((name) => query[name] !== undefined);
  if (odd !== undefined) throw new UsageError(`--${odd} is for the list of runs alone.`);
  if (id === undefined) throw new UsageError('Say show, attach or cancel, and the ID of the run.');
  switch (what) {
    case 'show': {
      const run = (await client.get(path('runs', id))) as Run;
      if (format) stdout.line(JSON.stringify(run, null, format === 'json' ? 2 : 0));
      else stdout.line(lineOf(run));
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

async function list(
  { client, stdout }: Invocation,
  query: Readonly<Record<string, string | undefined>>,
  format: 'json' | 'ndjson' | undefined,
): Promise<number> {
  const { runs } = (await client.get('/runs', { query })) as { readonly runs: readonly Run[] };
  if (format === 'json') await stdout.line(JSON.stringify(runs, null, 2));
  else for (const run of runs) await stdout.line(format ? JSON.stringify(run) : lineOf(run));
  return 0;
}

const lineOf = ({ id, command: name, user, state, nodes, ok, failed, started, finished, progress }: Run): string => {
  const counts = nodes > 0 ? `, ${ok} of ${nodes} nodes well, ${failed} failed` : '';
  const line = progress?.line ? `, ${oneLine(progress.line)}` : '';
  return `${id}  ${name} by ${user}  ${state}${counts}${line}  ${started}${finished === undefined ? '' : ` to ${finished}`}`;
};

const [shortest, longest] = [100, 2_000];

async function attach({ client, stdout, stderr, signal }: Invocation, id: string, format?: string): Promise<number> {
  let told = 0;
  let toldLines = 0;
  for (let wait = shortest; ; wait = Math.min(longest, wait * 1.5)) {
    const run = (await client.get(path('runs', id), { signal })) as Run;
    const results = run.results ?? [];
    for (const result of results.slice(told)) {
      if (format) await stdout.line(JSON.stringify(result));
      else await tell(result);
    }
    if (results.length > told) wait = shortest;
    told = Math.max(told, results.length);
    const { lines = [], linesBefore = 0 } = run;
    const missed = Math.max(0, linesBefore - toldLines);
    if (missed > 0 && !format) await stderr.line(`muster runs: ${missed} earlier lines are no longer kept.`);
    const news = lines.slice(Math.max(0, toldLines - linesBefore));
    if (!format) for (const line of news) await stdout.line(line);
    if (news.length > 0) wait = shortest;
    toldLines = Math.max(toldLines, linesBefore + lines.length);
    if (run.state !== 'running') return end(run);
    await stdout.flush();
    await sleep(wait, undefined, { signal });
  }

  async function tell({ node, value, error, output }: Result): Promise<void> {
    const printed = isOutput(value) ? value : output;
    for (const line of printed ? [...textLines(printed.stdout), ...(printed.notes ?? [])] : linesOf(value))
      await stdout.line(`${node}: ${line}`);
    for (const line of textLines(printed?.stderr ?? '')) await stderr.line(`${node}: ${line}`);
    if (error !== undefined) await stderr.line(`${node}: Error: ${error}`);
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

/** Commands that run on nodes have what was printed there. */
const isOutput = (value: unknown): value is Output =>
  typeof (value as Partial<Output> | undefined)?.stdout === 'string';

function linesOf(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  if (typeof value === 'string') return value.replace(/\n$/, '').split('\n');
  if (Array.isArray(value)) return value.flatMap(linesOf);
  if (typeof value !== 'object') return [JSON.stringify(value)];
  return Object.entries(value).flatMap(([label, each]) => linesOf(each).map((line) => `${label}: ${line}`));
}
