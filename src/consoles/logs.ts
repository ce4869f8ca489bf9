import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { limiter } from '../core/limiter.ts';
import type { Logger } from '../core/log.ts';
import { LogFiles, makeLogDirectory, nodesLogged } from './log-files.ts';
import { bytesOfLine, noteLine, outputLine, parseLine, readable, type LogLine } from './log-format.ts';
import type { ConsoleSettings } from './settings.ts';

/** Lines of a log that are read at a time. */
export const mostLogLines = 100_000;
/** Milliseconds between two looks at what is to be written. */
const tick = 1_000;
/** Characters of one console that are written sooner than the rest. */
const enough = 16_384;
/** Characters that wait while nothing can be written, of one console and of all. */
const mostWaiting = 262_144;
const mostWaitingOfAll = 128 << 20;
const filesAtOnce = 16;
/** Milliseconds that reading a file may take until others get their turn. */
const slice = 10;

interface Waiting {
  text: string;
  lost: number;
  since: number;
}

/** Which lines are read. */
interface Wanted {
  readonly since?: number;
  readonly most: number;
  /** Says of the text of a whole file whether one may be in it. */
  mayHave?(text: string): boolean;
  wanted?(line: LogLine): boolean;
}

type LogSettings = Pick<ConsoleSettings, 'logSize' | 'logsKept' | 'writeSeconds'>;

/** What consoles print, by node, in files. Lines of a while are written together, so that thousands of logs cost little. */
export class ConsoleLogs {
  readonly #directory: string;
  readonly #settings: LogSettings;
  readonly #log: Pick<Logger, 'error'>;
  readonly #files = new Map<string, LogFiles>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #atOnce = limiter(filesAtOnce);
  #ready: Promise<unknown> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Characters that wait. */
  #size = 0;
  #isWriting = false;
  #isFailing = false;
  #clock = { milliseconds: 0, text: '' };

  constructor(data: string, settings: LogSettings, log: Pick<Logger, 'error'>) {
    this.#directory = join(data, 'consoles');
    this.#settings = settings;
    this.#log = log;
  }

  /** A line of output, escaped. */
  output(node: string, escaped: string, end: string): void {
    this.#add(node, outputLine(this.#now(), escaped, end));
  }

  /** Whether a few thousand lines would not be lost. */
  hasRoom(node: string): boolean {
    return (this.#waiting.get(node)?.text.length ?? 0) < mostWaiting / 2;
  }

  note(node: string, note: string): void {
    this.#add(node, noteLine(this.#now(), note));
  }

  /** The lines of a node, oldest first: the last `most` of those since that time that are wanted. */
  async read(
    node: string,
    { since = 0, most, mayHave = () => true, wanted = () => true }: Wanted,
    signal?: AbortSignal,
  ): Promise<{ readonly lines: readonly LogLine[]; readonly isCut: boolean }> {
    await this.#write(node);
    const files = this.#filesOf(node);
    await files.settled();
    const lines: LogLine[] = [];
    for await (const text of files.newestFirst(since)) {
      signal?.throwIfAborted();
      let until = performance.now() + slice;
      if (!mayHave(text)) continue;
      let end = text.length;
      while (end > 0) {
        const start = end < 2 ? 0 : text.lastIndexOf('\n', end - 2) + 1;
        const line = parseLine(text.slice(start, text[end - 1] === '\n' ? end - 1 : end));
        end = start;
        if (performance.now() >= until) {
          await nextTurn();
          signal?.throwIfAborted();
          until = performance.now() + slice;
        }
        if (!line) continue;
        if (line.time < since) return { lines: lines.reverse(), isCut: false };
        if (!wanted(line)) continue;
        if (lines.length === most) return { lines: lines.reverse(), isCut: true };
        lines.push(line);
      }
    }
    return { lines: lines.reverse(), isCut: false };
  }

  /** Lines as people read them, with their times; with `search` those that have the text, in capitals or not. */
  async texts(
    node: string,
    { since, most, search }: { since: number; most: number; search?: string | undefined },
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const wanted = search?.toLowerCase();
    const shown: string[] = [];
    await this.read(
      node,
      {
        since,
        most,
        mayHave: (text) => wanted === undefined || text.includes('\\x1b') || text.toLowerCase().includes(wanted),
        wanted(line) {
          const text = readable(line);
          if (wanted !== undefined && !text.toLowerCase().includes(wanted)) return false;
          shown.push(`${new Date(line.time).toISOString()} ${text}`);
          return true;
        },
      },
      signal,
    );
    return shown.slice(0, most).reverse();
  }

  /** The last bytes that the machine sent, from the beginning of a line. */
  async tail(node: string, mostBytes: number): Promise<Buffer> {
    const { lines } = await this.read(node, { most: 2_000, wanted: ({ isNote }) => !isNote });
    const pieces: Buffer[] = [];
    let size = 0;
    for (const line of lines.toReversed()) {
      const bytes = bytesOfLine(line);
      size += bytes.length;
      if (size > mostBytes) break;
      pieces.unshift(bytes);
    }
    return Buffer.concat(pieces);
  }

  async nodes(): Promise<ReadonlySet<string>> {
    return new Set([...(await nodesLogged(this.#directory)), ...this.#waiting.keys()]);
  }

  /** All that waits is written. */
  async flush(): Promise<void> {
    await Promise.all([...this.#waiting.keys()].map((node) => this.#write(node)));
    await Promise.all(this.#underWay);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.flush();
  }

  #filesOf(node: string): LogFiles {
    let files = this.#files.get(node);
    if (!files) this.#files.set(node, (files = new LogFiles(this.#directory, node, this.#settings)));
    return files;
  }

  #add(node: string, line: string): void {
    let waiting = this.#waiting.get(node);
    if (!waiting) this.#waiting.set(node, (waiting = { text: '', lost: 0, since: Date.now() }));
    const size = waiting.text.length + line.length;
    if (size > mostWaiting || this.#size + line.length > mostWaitingOfAll) waiting.lost++;
    else {
      waiting.text += line;
      this.#size += line.length;
      if (size >= enough && size - line.length < enough) void this.#write(node);
    }
    this.#timer ??= setInterval(() => void this.#writeDue(), tick).unref();
  }

  /** Making it for each line would take longer than the rest. */
  #now(): string {
    const milliseconds = Date.now();
    if (milliseconds !== this.#clock.milliseconds)
      this.#clock = { milliseconds, text: new Date(milliseconds).toISOString() };
    return this.#clock.text;
  }

  async #writeDue(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    const due = Date.now() - this.#settings.writeSeconds * 1_000;
    const nodes = [...this.#waiting].flatMap(([node, { text, since }]) =>
      since <= due || text.length >= enough ? node : [],
    );
    await Promise.all(nodes.map((node) => this.#write(node)));
    this.#isWriting = false;
  }

  #write(node: string): Promise<void> {
    const writing = this.#atOnce(() => this.#writeNow(node)).finally(() => this.#underWay.delete(writing));
    this.#underWay.add(writing);
    return writing;
  }

  async #writeNow(node: string): Promise<void> {
    // Failing, it fails again below.
    await (this.#ready ??= makeLogDirectory(this.#directory)).catch(() => {});
    const waiting = this.#waiting.get(node);
    if (!waiting) return;
    this.#waiting.delete(node);
    const { text, lost } = waiting;
    this.#size -= text.length;
    try {
      const note = lost > 0 ? noteLine(this.#now(), `${lost} lines are missing: they could not be written`) : '';
      await this.#filesOf(node).append(text + note);
      this.#isFailing = false;
    } catch (error) {
      this.#ready = undefined;
      this.#keep(node, waiting);
      if (!this.#isFailing) this.#log.error({ err: error }, 'console logs could not be written; muster tries again');
      this.#isFailing = true;
    }
  }

  /** What could not be written waits again, before what has come since. */
  #keep(node: string, { text, lost, since }: Waiting): void {
    const later = this.#waiting.get(node);
    const all = text + (later?.text ?? '');
    const kept = all.length <= mostWaiting ? all : text;
    this.#size += kept.length - (later?.text.length ?? 0);
    const dropped = kept === all ? 0 : (later?.text.split('\n').length ?? 1) - 1;
    this.#waiting.set(node, { text: kept, lost: lost + (later?.lost ?? 0) + dropped, since });
  }
}
