import type { ServerResponse } from 'node:http';
import { setImmediate as pause } from 'node:timers/promises';
import { shownResult } from '../core/results.ts';
import type { Outcome } from '../dispatch/dispatch.ts';
import { bodyOf } from './body-writer.ts';
import { bodyText, slice } from './paced-text.ts';
import type { CommonParameters } from './parameters.ts';
import type { NodeCatalog } from '../objects/catalog.ts';

const heartbeat = 15_000;

/** Writes one line per object as it is made, then the summary without which the stream counts as cut. */
export async function streamOutcome(
  response: ServerResponse,
  outcome: Outcome,
  catalog: NodeCatalog,
  common: CommonParameters,
): Promise<void> {
  const { answer, run } = outcome;
  const lines = new LineWriter(response);
  if (answer.shape === 'stream') {
    // The first node may take long; the number of the run is needed now, to follow or to stop it.
    response.flushHeaders();
    for await (const result of answer.results) await lines.write(JSON.stringify(shownResult(result)));
  } else if (answer.shape === 'objects') {
    for (const name of answer.names) {
      const value = answer.text ? answer.text(name) : JSON.stringify(answer.attributes(name));
      await lines.write(`{"node":${JSON.stringify(name)},"value":${value}}`);
    }
  } else if (answer.shape === 'rows') {
    for (const [table, rows] of answer.tables) {
      for (const row of rows) await lines.write(JSON.stringify({ table, value: row }));
    }
  } else if (answer.shape === 'list') {
    for (const item of answer.items) await lines.write(JSON.stringify({ value: item }));
  } else if (answer.shape !== 'none') {
    const body = await bodyOf(answer, outcome.snapshot, catalog, { ...common, pretty: false });
    await lines.write(`{"value":${bodyText(body).trim()}}`);
  }
  const { nodes, ok, failed, errorcode } = run;
  await lines.end(JSON.stringify({ summary: { nodes, ok, failed, errorcode } }));
}

const maximumWaiting = 65_536;

/** Lines of one turn of the event loop are sent together; a blank line keeps the connection alive while nothing happens. */
class LineWriter {
  readonly #response: ServerResponse;
  readonly #timer: NodeJS.Timeout;
  #waiting = '';
  #scheduled = false;
  #began = performance.now();

  constructor(response: ServerResponse) {
    this.#response = response;
    this.#timer = setInterval(() => response.write('\n'), heartbeat).unref();
    response.once('close', () => clearInterval(this.#timer));
  }

  async write(line: string): Promise<void> {
    this.#waiting += `${line}\n`;
    if (this.#waiting.length > maximumWaiting || performance.now() - this.#began > slice) {
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

  #flush(): boolean {
    this.#scheduled = false;
    if (this.#waiting === '' || this.#response.destroyed) return true;
    const text = this.#waiting;
    this.#waiting = '';
    this.#timer.refresh();
    return this.#response.write(text);
  }

  /** Sends what waits and lets others work; a slow reader is waited for, so that its lines do not pile up here. */
  async #flushed(): Promise<void> {
    if (this.#flush()) await pause();
    else {
      await new Promise<void>((resolve) => {
        this.#response.once('drain', resolve);
        this.#response.once('close', resolve);
      });
    }
    this.#began = performance.now();
  }
}
