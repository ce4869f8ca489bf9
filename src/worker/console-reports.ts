import { type Channel, type ConsoleReport, encoded, mostCharacters } from '../bus/index.ts';

/** Milliseconds in which what machines print becomes one message. */
const gatherFor = 10;
/** Bytes that wait for a server which takes no more: of one machine, and of all. What comes then is left out. */
const mostOfOne = 256 * 1024;
const mostOfAll = 32 * 1024 * 1024;

interface Output {
  readonly id: number;
  pieces: Uint8Array[];
  size: number;
  /** Bytes left out after these. */
  cut: number;
}

type Waiting = Output | Exclude<ConsoleReport, { is: 'output' }>;

/** What the consoles of one server have to say: gathered for a moment, in order for each, and no faster than the server takes it. */
export class ConsoleReports {
  readonly #channel: Channel;
  #waiting: Waiting[] = [];
  /** Output that may still grow. */
  readonly #growing = new Map<number, Output>();
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  output(id: number, bytes: Uint8Array): void {
    let output = this.#growing.get(id);
    if (!output) {
      this.#growing.set(id, (output = { id, pieces: [], size: 0, cut: 0 }));
      this.#waiting.push(output);
    }
    const { length } = bytes;
    // What was left out stands at the end.
    if (output.cut > 0 || output.size + length > mostOfOne || this.#size + length > mostOfAll) output.cut += length;
    else {
      // The driver may use its buffer again.
      output.pieces.push(Buffer.from(bytes));
      output.size += length;
      this.#size += length;
    }
    this.#soon();
  }

  add(report: Exclude<ConsoleReport, { is: 'output' }>): void {
    this.#growing.delete(report.id);
    this.#waiting.push(report);
    this.#soon();
  }

  /** Resolves when all of it is on its way, or nobody takes it any more. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length > 0) this.#sending ??= this.#send();
    await this.#sending;
  }

  #soon(): void {
    if (this.#sending || this.#timer) return;
    this.#timer = setTimeout(() => void this.flush(), gatherFor);
  }

  async #send(): Promise<void> {
    try {
      while (this.#waiting.length > 0) await this.#channel.send(encoded({ reports: this.#next() }));
    } catch {
      // The server is gone: whoever reads its channel closes the consoles.
      this.#waiting = [];
      this.#growing.clear();
      this.#size = 0;
    } finally {
      this.#sending = undefined;
    }
  }

  /** As much as one message holds. */
  #next(): ConsoleReport[] {
    const reports: ConsoleReport[] = [];
    let room = mostCharacters;
    let taken = 0;
    while (taken < this.#waiting.length && room > 0) {
      const waiting = this.#waiting[taken]!;
      if ('is' in waiting) {
        reports.push(waiting);
        room -= JSON.stringify(waiting).length;
      } else {
        const bytes = Buffer.concat(waiting.pieces);
        const fits = bytes.subarray(0, room);
        const rest = bytes.subarray(room);
        room -= fits.length;
        this.#size -= fits.length;
        waiting.pieces = [rest];
        waiting.size = rest.length;
        const isDone = rest.length === 0;
        const cut = isDone && waiting.cut > 0 ? { cut: waiting.cut } : {};
        reports.push({ is: 'output', id: waiting.id, bytes: fits.toString('base64'), ...cut });
        if (!isDone) break;
        if (this.#growing.get(waiting.id) === waiting) this.#growing.delete(waiting.id);
      }
      taken++;
    }
    this.#waiting.splice(0, taken);
    return reports;
  }
}
