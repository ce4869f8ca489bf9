import type { ServerResponse } from 'node:http';
import { setImmediate as pause } from 'node:timers/promises';
import { shownResult } from '../core/results.ts';
import type { Answer } from '../commands/command.ts';
import { errorKinds, Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { DryRun, Outcome } from '../dispatch/request.ts';
import type { WorkUnderWay } from '../dispatch/long.ts';
import type { Run } from '../dispatch/runs.ts';
import { sentenceWithoutSecrets } from '../objects/secret-names.ts';
import { bodyOf } from './body-writer.ts';
import { drained } from './drained.ts';
import { bodyText, slice } from './paced-text.ts';
import type { CommonParameters } from './parameters.ts';
import { detailedErrors, prefers } from './prefer.ts';
import type { NodeCatalog } from '../objects/catalog.ts';

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

/** Writes what long work tells as it comes, then what came of it. */
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
