import { setTimeout as sleep } from 'node:timers/promises';
import { path } from '../client.ts';
import { type Invocation, musterCommand, oneOf, say } from '../command.ts';
import { type Format, reading } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { type RemoteOutput, textLines, withBytes } from '../nodes/remote-lines.ts';
import { foldNames, valueLines } from '../nodes/results.ts';
import { valued } from '../options.ts';
import { inCommands } from '../remedies.ts';
import { oneLine } from '../output.ts';
import { localTime } from '../times.ts';

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
  /** Why there are no results. */
  readonly note?: string;
  /** What work for all nodes at once said, such as which it left out. */
  readonly messages?: readonly string[];
  /** What was accepted though it looks wrong. */
  readonly notes?: readonly string[];
}

interface RunList {
  readonly runs: readonly Run[];
  /** Why some are missing. */
  readonly note?: string;
}

const filters = ['state', 'user', 'command', 'limit'] as const;
export const runs = musterCommand({
  usage: `Usage: muster runs [--state STATE] [--user USER] [--command COMMAND] [--limit N]
       muster runs show ID
       muster runs attach ID
       muster runs cancel ID

A run is the work of one command; --detach prints its ID, and every reply has it in the header X-Muster-Run. Without an ID the runs
of the last day are listed, the newest first: your own, or everybody's with full rights. show prints the state of one run, attach
prints all its lines and results as they come, and cancel ends it. Ctrl-C ends attach, not the run.`,
  options: {
    state: valued('STATE', 'only those that are running, finished, cancelled or interrupted'),
    user: valued('USER', 'only those of this user'),
    command: valued('COMMAND', 'only those of this command, such as rpower'),
    limit: valued('N', 'how many at most, up to 1000; usually 100'),
  },
  notes: `With --format, attach prints one line of JSON per node.
muster events --kinds run shows runs as they begin and end.`,
  operands: [0, 2, 'Say show, attach or cancel, and the ID of the run.'],
  common: reading,
  async run(invocation, options) {
    const { client } = invocation;
    const { format } = options.common;
    const query = Object.fromEntries(filters.map((name) => [name, options.value(name)] as const));
    const words = options.operands;
    if (words.length === 0) return list(invocation, query, format);
    const [what = '', id] = words;
    const odd = filters.find((name) => query[name] !== undefined);
    if (odd !== undefined) throw new UsageError(`--${odd} is for the list of runs alone.`);
    if (id === undefined) throw new UsageError('Say show, attach or cancel, and the ID of the run.');
    switch (what) {
      case 'show': {
        const run = (await client.get(path('runs', id))) as Run;
        if (format === 'json') return say(invocation, JSON.stringify(run, null, 2));
        if (format) return writeData(invocation, format, [run]);
        const warnings = (run.notes ?? []).map((note) => `Warning: ${inCommands(note)}`);
        return say(invocation, [lineOf(run), ...(run.messages ?? []), ...warnings].join('\n'));
      }
      case 'cancel':
        await client.call('DELETE', path('runs', id));
        return 0;
      case 'attach':
        return attach(invocation, id, oneOf('--format', format, ['json', 'ndjson'] as const));
      default:
        throw new UsageError(`There is no "muster runs ${what}"; there are show, attach and cancel.`);
    }
  },
});

async function list(
  invocation: Invocation,
  query: Readonly<Record<string, string | undefined>>,
  format: Format | undefined,
): Promise<number> {
  const { client, stdout, stderr } = invocation;
  const { runs: found, note } = (await client.get('/runs', { query })) as RunList;
  if (note !== undefined) stderr.line(`muster runs: ${note}`);
  if (format) return writeData(invocation, format, found);
  for (const run of found) await stdout.line(lineOf(run));
  return 0;
}

const lineOf = ({ id, command: name, user, state, nodes, ok, failed, started, finished, progress }: Run): string => {
  const counts = nodes > 0 ? `, ${ok} of ${nodes} nodes well, ${failed} failed` : '';
  const line = progress?.line ? `, ${oneLine(progress.line)}` : '';
  const end = finished === undefined ? '' : ` to ${localTime(finished)}`;
  return `${id}  ${name} by ${user}  ${state}${counts}${line}  ${localTime(started)}${end}`;
};

const [shortest, longest] = [100, 2_000];

async function attach({ client, stdout, stderr, signal }: Invocation, id: string, format?: string): Promise<number> {
  let shown = 0;
  let shownLines = 0;
  for (let wait = shortest; ; wait = Math.min(longest, wait * 1.5)) {
    const run = (await client.get(path('runs', id), { signal })) as Run;
    const results = run.results ?? [];
    for (const result of results.slice(shown)) {
      if (format) await stdout.line(JSON.stringify(result));
      else await print(result);
    }
    if (results.length > shown) wait = shortest;
    shown = Math.max(shown, results.length);
    const { lines = [], linesBefore = 0 } = run;
    const missed = Math.max(0, linesBefore - shownLines);
    if (missed > 0 && !format) await stderr.line(`muster runs: ${missed} earlier lines are no longer kept.`);
    const news = lines.slice(Math.max(0, shownLines - linesBefore));
    if (!format) for (const line of news) await stdout.line(line);
    if (news.length > 0) wait = shortest;
    shownLines = Math.max(shownLines, linesBefore + lines.length);
    if (run.state !== 'running') return end(run);
    await stdout.flush();
    await sleep(wait, undefined, { signal });
  }

  async function print({ node, value, error, output }: Result): Promise<void> {
    const found = isOutput(value) ? value : output;
    const printed = found && withBytes(found);
    for (const line of printed ? [...textLines(printed.stdout), ...(printed.notes ?? [])] : valueLines(value))
      await stdout.line(`${node}: ${line}`);
    for (const line of textLines(printed?.stderr ?? '')) await stderr.line(`${node}: ${line}`);
    if (error !== undefined) await stderr.line(`${node}: Error: ${error}`);
  }

  function end(run: Run): number {
    for (const sentence of run.error ?? []) stderr.line(`muster runs: ${inCommands(sentence)}`);
    for (const note of run.notes ?? []) stderr.line(`Warning: ${inCommands(note)}`);
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
