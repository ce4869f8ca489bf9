import { StringDecoder } from 'node:string_decoder';

/** Characters of a line that are kept. */
const longestLine = 4_096;
const mark = '...';

/** Takes out what a terminal would act on; what else cannot be shown becomes a question mark. */
function harmless(line: string): string {
  // Nearly all lines; the rest costs much more.
  if (/^[ -~]*$/.test(line)) return line;
  return line
    .replaceAll('\t', ' ')
    .replaceAll(/\p{Cc}\[[0-?]*[ -/]*[@-~]/gu, '')
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, '?')
    .toWellFormed();
}

/** Cuts what a program prints into lines that can be shown to anybody, however long they are and whatever is in them. */
export class LineSplitter {
  readonly #decoder = new StringDecoder('utf8');
  readonly #take: (line: string) => void;
  #rest = '';
  /** What follows up to the end of the line is too much. */
  #isCut = false;
  #endedByReturn = false;

  constructor(take: (line: string) => void) {
    this.#take = take;
  }

  add(chunk: Buffer | string): void {
    let text = typeof chunk === 'string' ? chunk : this.#decoder.write(chunk);
    if (text === '') return;
    if (this.#endedByReturn && text.startsWith('\n')) text = text.slice(1);
    this.#endedByReturn = text.endsWith('\r');
    const pieces = text.split(/\r\n|\r|\n/);
    const last = pieces.pop()!;
    for (const piece of pieces) {
      this.#extend(piece);
      this.#end();
    }
    this.#extend(last);
  }

  /** No more will come. */
  end(): void {
    this.#extend(this.#decoder.end());
    if (this.#rest !== '') this.#end();
  }

  #extend(piece: string): void {
    if (this.#isCut) return;
    const line = this.#rest + piece;
    this.#isCut = line.length > longestLine;
    this.#rest = this.#isCut ? line.slice(0, longestLine) : line;
  }

  #end(): void {
    const line = this.#isCut ? this.#rest + mark : this.#rest;
    this.#rest = '';
    this.#isCut = false;
    this.#take(harmless(line));
  }
}

/** The lines of a text that is there as a whole. */
export function linesOf(text: string): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  splitter.add(text);
  splitter.end();
  return lines;
}
