import type { ServerResponse } from 'node:http';
import { setImmediate as pause } from 'node:timers/promises';
import type { Answer } from '../../commands/command.ts';
import { errorKinds, Fault } from '../../core/errors.ts';
import {
  complaintsIn,
  type NodeFailure,
  type NodeResult,
  type NodeValue,
  outputLines,
  shownResult,
  Verdict,
} from '../../core/results.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { byText } from '../../database/sorted-map.ts';
import type { WorkUnderWay } from '../../dispatch/long.ts';
import type { DryRun, Outcome } from '../../dispatch/request.ts';
import type { Run } from '../../dispatch/run.ts';
import type { NodeCatalog } from '../../objects/catalog.ts';
import { sentenceWithoutSecrets } from '../../objects/secret-names.ts';
import { bodyOf, bodyText, drained, slice } from './body-writer.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { CommonParameters } from './parameters.ts';
import type { Root } from '../endpoints/roots.ts';
import { detailedErrors, prefers } from './entity-tags.ts';

type NodeSuccess = Exclude<NodeResult, NodeFailure>;

/** All results of a command that works node by node as one answer; any error hides the rest, as the specification wants. */
export async function collectStream(
  results: AsyncIterable<readonly NodeResult[]>,
  { reply, together }: Pick<Endpoint, 'reply' | 'together'>,
  { blankBeforeLines }: Pick<Root, 'blankBeforeLines'>,
): Promise<Answer> {
  const successes = new Map<string, NodeSuccess>();
  const errors: { readonly node: string; readonly sentences: readonly string[] }[] = [];
  const verdict = new Verdict();
  for await (const batch of results) {
    for (const result of batch) {
      if ('error' in result) errors.push({ node: result.node, sentences: sentencesOf(result) });
      else successes.set(result.node, result);
      verdict.add(result);
    }
  }
  if (verdict.kind) throw new Fault(verdict.kind, named(errors));
  if (reply === 'none') return { shape: 'none', messages: messagesIn(successes) };
  if (together) {
    const lines = new Map([...successes].map(([node, result]) => [node, valueOf(result) as readonly string[]]));
    return { shape: 'list', items: together(lines) };
  }
  const names = [...successes.keys()].sort();
  const shown = (name: string): NodeValue => {
    const value = valueOf(successes.get(name)!);
    return blankBeforeLines && Array.isArray(value) ? withBlanks(value as readonly string[]) : value;
  };
  return { shape: 'objects', names, attributes: shown };
}

const withBlanks = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => (line.trim() === '' ? [] : ` ${line}`));

/** The same for those who can read both: the results of nodes, and what went wrong with others. */
export async function collectLenient(results: AsyncIterable<readonly NodeResult[]>): Promise<Answer> {
  const all = (await Array.fromAsync(results)).flat();
  const found: [string, NodeValue][] = [];
  const errors: [string, string][] = [];
  for (const result of all.sort((a, b) => byText(a.node, b.node))) {
    if ('error' in result) errors.push([result.node, sentencesOf(result).map(sentenceWithoutSecrets).join(' ')]);
    else found.push([result.node, valueOf(result)]);
  }
  return { shape: 'value', value: { results: Object.fromEntries(found), errors: Object.fromEntries(errors) } };
}

const valueOf = (result: NodeSuccess): NodeValue => ('value' in result ? result.value : outputLines(result.output));

/** What the nodes say beside that all is well. */
const messagesIn = (successes: ReadonlyMap<string, NodeSuccess>): string[] =>
  [...successes].flatMap(([node, result]) => {
    const { Message = [] } = valueOf(result) as Readonly<Record<string, string | readonly string[]>>;
    return [Message].flat().map((sentence) => `${node}: ${sentence}`);
  });

/** What a command printed before it failed says more than that it did. */
const sentencesOf = ({ error, output }: NodeFailure): string[] => [...(output ? complaintsIn(output) : []), error];

const named = (errors: { readonly node: string; readonly sentences: readonly string[] }[]): string[] =>
  errors
    .sort((a, b) => byText(a.node, b.node))
    .flatMap(({ node, sentences }) => sentences.map((sentence) => `${node}: ${sentence}`));

const heartbeat = 15_000;

/** Writes one line per object as it is made, then the summary without which the stream counts as cut. */
export async function streamOutcome(
  response: ServerResponse,
  { answer, run, snapshot }: Outcome & { readonly answer: Exclude<Outcome['answer'], WorkUnderWay> },
  catalog: NodeCatalog,
  common: CommonParameters,
): Promise<void> {
  const lines = new LineWriter(response);
  if (answer.shape === 'stream') {
    // The first node may take long; the number of the run is needed now, to follow or to stop it.
    response.flushHeaders();
    answer.passOutputTo((node, stream, piece) => lines.write(JSON.stringify({ node, [stream]: piece })));
    const detailed = prefers(response.req.headers['prefer'], detailedErrors);
    for await (const batch of answer.results)
      for (const result of batch) await lines.write(JSON.stringify(shownResult(result, detailed)));
  } else await writeAnswer(lines, answer, snapshot, catalog, common);
  await lines.end(summaryOf(run));
}

/** Writes what long work reports as it comes, then what came of it. */
export async function streamWork(
  response: ServerResponse,
  run: Run,
  { progress, ended }: WorkUnderWay,
  left: AbortSignal,
  catalog: NodeCatalog,
  common: CommonParameters,
): Promise<void> {
  const lines = new LineWriter(response);
  response.flushHeaders();
  for await (const now of progress.watch(left)) await lines.write(JSON.stringify({ progress: now }));
  if (left.aborted) return;
  try {
    const { answer, snapshot } = await ended;
    await writeAnswer(lines, answer, snapshot, catalog, common);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const { kind, sentences } = error;
    await lines.write(
      JSON.stringify({ error: sentences.map(sentenceWithoutSecrets), errorcode: errorKinds[kind].code }),
    );
  }
  await lines.end(summaryOf(run));
}

const summaryOf = ({ nodes, ok, failed, errorcode }: Run): string =>
  JSON.stringify({ summary: { nodes, ok, failed, errorcode } });

async function writeAnswer(
  lines: LineWriter,
  answer: Answer | DryRun,
  snapshot: Snapshot,
  catalog: NodeCatalog,
  common: CommonParameters,
): Promise<void> {
  if (answer.shape === 'objects') {
    for (const name of answer.names) {
      const value = answer.text ? answer.text(name) : JSON.stringify(answer.attributes(name));
      await lines.write(`{"node":${JSON.stringify(name)},"value":${value}}`);
    }
  } else if (answer.shape === 'rows') {
    for (const [table, rows] of answer.tables) {
      for (const row of rows) await lines.write(JSON.stringify({ table, value: row }));
    }
  } else if (answer.shape === 'items') {
    const { before, after, items } = answer;
    if (before || after) await lines.write(JSON.stringify({ value: { ...before, ...after } }));
    for (const item of items) await lines.write(JSON.stringify({ value: item }));
  } else if (answer.shape === 'dry-run' && answer.results) {
    const { results, ...change } = answer;
    for (const result of results) await lines.write(JSON.stringify(shownResult(result)));
    if (change.changes) await writeAnswer(lines, change, snapshot, catalog, common);
  } else if (answer.shape === 'list') {
    for (const item of answer.items) await lines.write(JSON.stringify({ value: item }));
  } else if (answer.shape !== 'none') {
    const body = await bodyOf(answer, snapshot, catalog, { ...common, pretty: false });
    await lines.write(`{"value":${bodyText(body).trim()}}`);
  }
}

const maximumWaiting = 65_536;

/** Lines of one turn of the event loop are sent together; a blank line keeps the connection alive while nothing happens. */
class LineWriter {
  readonly #response: ServerResponse;
  readonly #timer: NodeJS.Timeout;
  #waiting = '';
  #scheduled = false;
  #began = performance.now();
  /** Settled when the client has taken what was sent; many may wait for it. */
  #drained: Promise<void> | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
    this.#timer = setInterval(() => response.write('\n'), heartbeat).unref();
    response.once('close', () => clearInterval(this.#timer));
  }

  async write(line: string): Promise<void> {
    this.#waiting += `${line}\n`;
    if (this.#isHeld || this.#waiting.length > maximumWaiting || performance.now() - this.#began > slice) {
      await this.#flushed();
    } else if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => this.#flush());
    }
  }

  async end(line: string): Promise<void> {
    clearInterval(this.#timer);
    this.#waiting += `${line}\n`;
    await this.#flushed();
    this.#response.end();
  }

  /** The client has not taken yet what was sent. */
  get #isHeld(): boolean {
    return this.#response.writableNeedDrain && !this.#response.destroyed;
  }

  #flush(): void {
    this.#scheduled = false;
    if (this.#waiting === '' || this.#response.destroyed) return;
    const text = this.#waiting;
    this.#waiting = '';
    this.#timer.refresh();
    this.#response.write(text);
  }

  /** Sends what waits and lets others work; a slow reader is waited for, so that its lines do not pile up here. */
  async #flushed(): Promise<void> {
    this.#flush();
    if (this.#isHeld) await (this.#drained ??= drained(this.#response).then(() => (this.#drained = undefined)));
    else await pause();
    this.#began = performance.now();
  }
}
