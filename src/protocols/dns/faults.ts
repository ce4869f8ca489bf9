/** `unreachable`: no connection, or it was lost; `late`: no answer in time; `refused`: answered with an error; `garbled`: not understood. */
export type DnsFaultKind = 'unreachable' | 'late' | 'refused' | 'garbled';

export class DnsFault extends Error {
  readonly kind: DnsFaultKind;
  /** The server's response code, if it has sent one. */
  readonly code: number | undefined;

  constructor(kind: DnsFaultKind, message: string, code?: number, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'DnsFault';
    this.kind = kind;
    this.code = code;
  }
}

export const garbled = (what: string): DnsFault => new DnsFault('garbled', `the answer cannot be read: ${what}`);
