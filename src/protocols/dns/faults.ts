import { Fault } from '../../core/errors.ts';

/** `unreachable`: no connection, or it was lost; `late`: no answer in time; `refused`: answered with an error; `garbled`: not understood. */
export type DnsFailure = 'unreachable' | 'late' | 'refused' | 'garbled';

export class DnsFault extends Fault {
  readonly failure: DnsFailure;
  /** The server's response code, if it has sent one. */
  readonly code: number | undefined;

  constructor(failure: DnsFailure, message: string, code?: number, cause?: unknown) {
    super('unavailable', message, { cause });
    this.name = 'DnsFault';
    this.failure = failure;
    this.code = code;
  }
}

export const garbled = (what: string): DnsFault => new DnsFault('garbled', `the answer cannot be read: ${what}`);
