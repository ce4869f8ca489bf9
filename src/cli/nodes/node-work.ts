import { cancelOnInterrupt } from '../cancel.ts';
import { path, type StreamLine } from '../client.ts';
import { Refused, UsageError } from '../client-errors.ts';
import type { Invocation } from '../invocation.ts';
import { nodeErrorLine, nodeLine } from '../lines.ts';
import { confirmed } from './confirm.ts';
import { curlLine } from './curl-line.ts';
import type { OwnOptions } from './own-options.ts';
import { ProgressLine } from './progress.ts';
import { ResultWriter, type Said } from './result-writer.ts';

export interface NodeRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly at: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
}

/** How a command tells what came of a node. */
export interface Telling {
  /** The lines of a node that did well, each to be printed behind its name. */
  lines(value: unknown, node: string): readonly string[];
  /** Instead of these, where not all of it is printed behind the name on standard output. */
  result?(line: StreamLine): Said;
  /** Of one that did not; usually `NODE: [mn]: Error: TEXT` on standard error. */
  failure?(line: StreamLine): { readonly stdout?: readonly string[]; readonly stderr?: readonly string[] } | undefined;
  /** A part of what a node prints, before its result. */
  piece?(node: string, stream: 'stdout' | 'stderr', text: string): Said;
  /** What is said once the server has taken it, before any result. */
  before?(): unknown;
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
export const failureText = ({ reference, error }: StreamLine): string =>
  typeof reference === 'string' ? reference : (error ?? '');

/** What a dry run says of a node: whom the work would be sent to, and what the node would get. */
const dryTelling: Telling = {
  lines: (value) => [
    ['dry run', ...Object.entries(value as Record<string, string>).map(([name, text]) => `${name}=${text}`)].join(' '),
  ],
};

/** Sends work on nodes and prints what comes of each as it comes. An empty range is no error. */
export async function workOnNodes(
  invocation: Invocation,
  request: NodeRequest,
  given: Telling,
  own: OwnOptions,
): Promise<Tally> {
  const telling = own.dryRun ? dryTelling : given;
  const { client, stdout, terminal } = invocation;
  if (own.curl) {
    stdout.line(curlLine(client.place, request));
    return { ...nothing, left: true };
  }
  const agreed = telling.question
    ? await confirmed(invocation, telling.question, telling.range ?? '', own.yes)
    : { nodes: undefined };
  if (!agreed) return { ok: 0, failed: 1, left: true };
  const headers: Record<string, string> = agreed.nodes === undefined ? {} : { 'X-Expect-Nodes': String(agreed.nodes) };
  const query = { ...request.query, ...(own.dryRun ? { dryRun: '1' } : {}) };
  const sent = { ...request, query, headers };
  if (own.detach) return detach(invocation, sent);
  let stream;
  try {
    stream = await client.stream(request.method, request.at, sent);
  } catch (error) {
    if (error instanceof Refused && error.isEmpty) return nothing;
    throw error;
  }
  telling.before?.();
  const progress = new ProgressLine(
    invocation,
    terminal.stdout ? total(invocation, stream.run) : Promise.resolve(undefined),
  );
  const release = cancelOnInterrupt(invocation, stream.run);
  const writer = new ResultWriter(invocation, own);
  let [ok, failed] = [0, 0];
  try {
    for await (const line of stream.lines) {
      if (line.node === undefined) continue;
      const part = line['stdout'] === undefined ? 'stderr' : 'stdout';
      if (typeof line[part] === 'string' && telling.piece) {
        progress.clear();
        await writer.say(telling.piece(line.node, part, line[part]));
        continue;
      }
      const bad = line.error !== undefined;
      progress.count(bad);
      progress.clear();
      if (bad) failed += 1;
      else ok += 1;
      await writer.write(line, said(invocation, line, telling));
    }
  } finally {
    release();
    progress.end();
  }
  await writer.end();
  if (invocation.signal.aborted) invocation.stderr.line(`Cancelled: ${ok} nodes were done, ${failed} were not.`);
  return { ok, failed };
}

function said({ env, client: { server } }: Invocation, line: StreamLine, telling: Telling): Said {
  const node = line.node!;
  if (telling.result) return telling.result(line);
  if (line.error === undefined)
    return { stdout: telling.lines(line.value, node).map((text) => nodeLine(node, text, { env, server })), stderr: [] };
  const own = telling.failure?.(line);
  return own
    ? { stdout: own.stdout ?? [], stderr: own.stderr ?? [] }
    : { stdout: [], stderr: [nodeErrorLine(node, failureText(line), server)] };
}

async function detach(
  { client, stdout, stderr }: Invocation,
  request: NodeRequest & { headers: Record<string, string> },
): Promise<Tally> {
  const headers = { ...request.headers, Prefer: 'respond-async, errors=detailed' };
  const reply = await client.call(request.method, request.at, { ...request, headers });
  const run = reply.headers['x-muster-run'];
  if (typeof run !== 'string') throw new UsageError('This is no work that could be left alone; leave --detach out.');
  stdout.line(run);
  // A change of the database is no work that could be left.
  if (reply.status !== 202) stderr.line(`It has ended already: muster runs attach ${run} shows what came of it.`);
  return { ...nothing, left: true };
}

async function total({ client }: Invocation, run: string | undefined): Promise<number | undefined> {
  if (run === undefined) return undefined;
  try {
    return ((await client.get(path('runs', run))) as { nodes?: number }).nodes;
  } catch {
    // Whoever may not look at runs sees what is done without what is left.
    return undefined;
  }
}
