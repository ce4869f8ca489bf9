import { Fault } from '../../core/errors.ts';
import type { XdrReader } from './wire.ts';

/**
 * `refused`: libvirt has answered with an error; `late`: it has not answered in time; `lost`: the connection is gone, and whether the
 * call was carried out is not known; `garbled`: what came cannot be read; `unfit`: it cannot be said in this protocol.
 */
export type LibvirtFailure = 'refused' | 'late' | 'lost' | 'garbled' | 'unfit';

const kinds = {
  refused: 'invalid',
  late: 'deadline',
  lost: 'unavailable',
  garbled: 'garbled',
  unfit: 'invalid',
} as const;

export interface LibvirtFaultOptions {
  /** Libvirt's number of the error, of a refusal. */
  readonly code?: number;
  readonly cause?: unknown;
}

/** Whatever goes wrong between us and libvirt, once there is a connection. */
export class LibvirtFault extends Fault {
  readonly failure: LibvirtFailure;
  readonly code: number | undefined;

  constructor(failure: LibvirtFailure, sentence: string, { code, cause }: LibvirtFaultOptions = {}) {
    super(kinds[failure], sentence, { cause });
    this.name = 'LibvirtFault';
    this.failure = failure;
    this.code = code;
  }
}

export const garbled = (what: string): LibvirtFault =>
  new LibvirtFault('garbled', `what libvirt sent cannot be read: ${what}.`);

/** Whether libvirt has refused with that number. */
export const isRefusal = (error: unknown, ...codes: readonly number[]): error is LibvirtFault =>
  error instanceof LibvirtFault && error.code !== undefined && codes.includes(error.code);

const longestText = 1_000;

/** A sentence of libvirt's own: one line, and not too long of it. */
function libvirtWords(text: string): string {
  const line = text
    .slice(0, longestText)
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return /[.!?]$/.test(line) ? line : `${line}.`;
}

/** What stands instead of a result. Only what people get to read or what decides something is read: the rest is libvirt's own. */
export function readRefusal(where: string, body: XdrReader): LibvirtFault {
  const code = body.int();
  /* The part of libvirt that it comes from. */
  body.int();
  const text = body.optional(() => body.string()) ?? `error ${code}`;
  return new LibvirtFault('refused', `libvirt on ${where} says: ${libvirtWords(text)}`, { code });
}
