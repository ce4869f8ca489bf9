/** CSI, OSC and other sequences of terminals. Bounded, so that no text takes long. */
const sequence =
  // oxlint-disable-next-line no-control-regex -- finding control characters is the point
  /\u001b(?:\[[0-?]{0,32}[ -/]{0,4}[@-~]|\][^\u0007\u001b]{0,256}(?:\u0007|\u001b\\)|[ -/]{0,4}[0-Z\\^-~])/g;
const longestPending = 512;

/** The last lines of what a machine prints, as text: what would draw is left out. */
export class PlainLines {
  readonly #most: number;
  readonly #decoder = new TextDecoder('utf-8');
  #lines: string[] = [''];
  #rest = '';

  constructor(most: number) {
    this.#most = most;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  add(bytes: Uint8Array): void {
    const all = this.#rest + this.#decoder.decode(bytes, { stream: true });
    // A sequence may end in the next piece.
    const last = all.lastIndexOf('\u001b');
    const isBegun =
      last >= 0 && all.length - last < longestPending && all.slice(last).replace(sequence, '') === all.slice(last);
    this.#rest = isBegun ? all.slice(last) : '';
    const text = (isBegun ? all.slice(0, last) : all).replaceAll(sequence, '');
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0) this.#lines.push('');
      this.#write(piece);
    }
    this.#lines = this.#lines.slice(-this.#most);
  }

  /** A carriage return begins the line again, as progress bars do. */
  #write(piece: string): void {
    const line = `${this.#lines.pop() ?? ''}${piece}`.replace(/\r+$/, '');
    this.#lines.push(
      line
        .slice(line.lastIndexOf('\r') + 1)
        .replaceAll(/\p{Cc}/gu, '')
        .slice(-longestLine),
    );
  }
}

const longestLine = 1_024;
