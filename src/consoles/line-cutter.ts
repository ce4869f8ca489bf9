import { bareNewline, open } from './log-format.ts';

/** A longer line is cut into pieces. */
export const longestPiece = 4_096;

/** Hears of each line, as Latin-1 without its end. */
type TakeLine = (text: string, end: string) => void;

/** Cuts the output of a machine into lines, wherever the pieces end in which it comes. */
export class LineCutter {
  readonly #take: TakeLine;
  #begun = '';

  constructor(take: TakeLine) {
    this.#take = take;
  }

  /** Something has come that is no whole line yet. */
  get hasBegun(): boolean {
    return this.#begun !== '';
  }

  add(bytes: Uint8Array): void {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
    let at = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', at)) {
      this.#end(this.#begun + text.slice(at, end));
      this.#begun = '';
      at = end + 1;
    }
    this.#begun += at === 0 ? text : text.slice(at);
    while (this.#begun.length > longestPiece) {
      this.#take(this.#begun.slice(0, longestPiece), open);
      this.#begun = this.#begun.slice(longestPiece);
    }
  }

  /** What has come of a line is a line for now: a prompt may wait for an answer. */
  flush(): void {
    if (this.#begun === '') return;
    this.#take(this.#begun, open);
    this.#begun = '';
  }

  #end(line: string): void {
    let rest = line;
    for (; rest.length > longestPiece; rest = rest.slice(longestPiece)) this.#take(rest.slice(0, longestPiece), open);
    if (rest.endsWith('\r')) this.#take(rest.slice(0, -1), '');
    else this.#take(rest, bareNewline);
  }
}
