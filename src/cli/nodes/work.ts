import { asked } from '../ask.ts';
import { path } from '../client.ts';
import type { StreamLine } from '../replies.ts';
import type { Invocation } from '../command.ts';
import type { CommonOptions } from '../common-options.ts';
import { Refused } from '../errors.ts';
import { nodeErrorLine, nodeLine } from '../lines.ts';
import type { OwnFiles } from '../own-files.ts';
import { writeTried } from '../muster/row-diff.ts';
import { cancelOnInterrupt, detach } from '../server-work.ts';
import { questionLimit } from './confirm.ts';
import { foldNames, ResultWriter, type Said } from './results.ts';

export interface NodeRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly at: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly files?: OwnFiles | undefined;
}

/** How a command reports what came of a node. */
export interface NodeReport {
  /** The lines of a node that did well, each to be printed behind its name. */
  lines(value: unknown, node: string): readonly string[];
  /** What data formats have of its value, where that is not the value itself. */
  data?(value: unknown): unknown;
  /** Instead of these, where not all of it is printed behind the name on standard output. */
  result?(line: StreamLine): Said;
  /** Of one that did not; usually `NODE: [mn]: Error: TEXT` on standard error. */
  failure?(line: StreamLine): { readonly stdout?: readonly string[]; readonly stderr?: readonly string[] } | undefined;
  /** A part of what a node prints, before its result. */
  piece?(node: string, stream: 'stdout' | 'stderr', text: string): Said;
  /** What is said once the server has taken it, before any result. */
  before?(run: string | undefined): unknown;
  /** Asked of people before it is done to many nodes, for instance "Switch off". */
  readonly question?: string;
  readonly range?: string;
}

export interface Tally {
  readonly ok: number;
  readonly failed: number;
  /** Nothing was sent, or it was not waited for. */
  readonly left?: boolean;
}

const nothing: Tally = { ok: 0, failed: 0 };

/** What the error of a node is printed as. */
export const failureText = ({ reference, error }: StreamLine, { isMuster }: Invocation): string =>
  typeof reference === 'string' && !isMuster ? reference : (error ?? '');

/** Whom a command would be sent to, as a dry run of it answers. */
const targetLine = (target: unknown): string[] => [
  ['dry run', ...Object.entries(target ?? {}).map(([name, value]) => `${name}=${String(value)}`)].join(' '),
];

/** Sends work on nodes and prints what comes of each as it comes. An empty range is no error. */
export async function workOnNodes(
  invocation: Invocation,
  request: NodeRequest,
  report: NodeReport,
  common: CommonOptions,
): Promise<Tally> {
  const { client, terminal } = invocation;
  const agreed = report.question
    ? await confirmed(invocation, report.question, report.range ?? '', common)
    : { nodes: undefined };
  if (!agreed) return { ok: 0, failed: 1, left: true };
  const headers: Record<string, string> = agreed.nodes === undefined ? {} : { 'X-Expect-Nodes': String(agreed.nodes) };
  const sent = { ...request, headers };
  if (common.detach) {
    await detach(invocation, sent);
    return { ...nothing, left: true };
  }
  let stream;
  try {
    stream = await client.stream(request.method, request.at, sent);
  } catch (error) {
    if (error instanceof Refused && error.isEmpty) return nothing;
    throw error;
  }
  report.before?.(stream.run);
  const progress = new ProgressLine(
    invocation,
    terminal.stdout ? nodesOf(invocation, stream.run) : Promise.resolve(undefined),
  );
  const release = cancelOnInterrupt(invocation, stream.run);
  const writer = new ResultWriter(invocation, common);
  let [ok, failed] = [0, 0];
  try {
    for await (const line of stream.lines) {
      if (line.node === undefined) {
        if (common.dryRun && line.value !== undefined) await writeTried(invocation, line.value);
        continue;
      }
      const part = line['stdout'] === undefined ? 'stderr' : 'stdout';
      if (typeof line[part] === 'string' && report.piece) {
        progress.clear();
        await writer.say(report.piece(line.node, part, line[part]));
        continue;
      }
      const bad = line.error !== undefined;
      progress.count(bad);
      progress.clear();
      if (bad) failed += 1;
      else ok += 1;
      const shown = report.data && !bad && !common.dryRun ? { ...line, value: report.data(line.value) } : line;
      await writer.write(shown, printed(invocation, line, common.dryRun ? { lines: targetLine } : report));
    }
  } finally {
    release();
    progress.end();
  }
  await writer.end();
  if (invocation.signal.aborted) invocation.stderr.line(`Cancelled: ${ok} nodes were done, ${failed} were not.`);
  return { ok, failed };
}

function printed(invocation: Invocation, line: StreamLine, report: NodeReport): Said {
  const {
    env,
    client: { server },
  } = invocation;
  const node = line.node!;
  if (report.result) return report.result(line);
  if (line.error === undefined)
    return { stdout: report.lines(line.value, node).map((text) => nodeLine(node, text, { env, server })), stderr: [] };
  const other = report.failure?.(line);
  return other
    ? { stdout: other.stdout ?? [], stderr: other.stderr ?? [] }
    : { stdout: [], stderr: [nodeErrorLine(node, failureText(line, invocation), server)] };
}

async function nodesOf({ client }: Invocation, run: string | undefined): Promise<number | undefined> {
  if (run === undefined) return undefined;
  try {
    return ((await client.get(path('runs', run), { aside: true })) as { nodes?: number }).nodes;
  } catch {
    // Whoever may not look at runs sees what is done without what is left.
    return undefined;
  }
}

/**
 * Asks before much is destroyed. Undefined: do not do it. Otherwise the number of nodes it was agreed to for, if somebody was asked.
 */
async function confirmed(
  invocation: Invocation,
  what: string,
  range: string,
  common: CommonOptions,
): Promise<{ readonly nodes: number | undefined } | undefined> {
  const limit = questionLimit(invocation, common);
  if (limit === undefined) return { nodes: undefined };
  const names = await namesIn(invocation.client, range);
  if (names.length <= limit) return { nodes: undefined };
  await invocation.stdout.flush();
  return (await asked(`${what} ${names.length} nodes (${foldNames(names)})?`)) ? { nodes: names.length } : undefined;
}

/** The names in a range, none if it is empty. */
export async function namesIn(client: Invocation['client'], range: string): Promise<string[]> {
  try {
    return Object.keys((await client.get(path('nodes', range, 'attrs', 'groups'), { aside: true })) as object);
  } catch (error) {
    if (error instanceof Refused && error.isEmpty) return [];
    throw error;
  }
}

const interval = 200;

/** A line at the bottom of a terminal: how many nodes are done, failed and left, and how fast it goes. None where output is piped. */
export class ProgressLine {
  readonly #invocation: Invocation;
  readonly #began = performance.now();
  readonly #timer: NodeJS.Timeout | undefined;
  #total: number | undefined;
  #done = 0;
  #failed = 0;
  #shown = false;

  constructor(invocation: Invocation, total: Promise<number | undefined>) {
    this.#invocation = invocation;
    if (!invocation.terminal.stderr || !invocation.terminal.stdout) return;
    void total.then((count) => (this.#total = count));
    this.#timer = setInterval(() => this.#show(), interval);
    this.#timer.unref();
  }

  count(failed: boolean): void {
    this.#done += 1;
    if (failed) this.#failed += 1;
  }

  /** Takes it away, so that a line can be written where it was. */
  clear(): void {
    if (!this.#shown) return;
    this.#shown = false;
    this.#invocation.stderr.draw('\r\u001B[K');
  }

  end(): void {
    clearInterval(this.#timer);
    this.clear();
  }

  #show(): void {
    const seconds = (performance.now() - this.#began) / 1_000;
    const rate = seconds > 0 ? this.#done / seconds : 0;
    const left = this.#total === undefined ? '' : `, ${Math.max(0, this.#total - this.#done)} left`;
    const text = `${this.#done} done, ${this.#failed} failed${left}, ${rate.toFixed(rate < 10 ? 1 : 0)} a second`;
    this.#invocation.stderr.draw(`\r\u001B[K${text.slice(0, Math.max(1, this.#invocation.terminal.columns - 1))}`);
    this.#shown = true;
  }
}
