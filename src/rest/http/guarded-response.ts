import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { http } from '../../core/http.ts';

/** Nothing may run, load or be framed but what `allowed` names, and no form be sent but to `formAction`. */
export function pagePolicy({ allowed = '', formAction = "'none'" } = {}): string {
  return `default-src 'none'; base-uri 'none'; form-action ${formAction}; frame-ancestors 'none'${allowed}`;
}

/** What a browser must not do with a reply: guess its type, frame it, run or load what is in it, pass on its URL, keep it. */
const guardHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Content-Security-Policy': pagePolicy(),
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
} as const;

const lineOf = (name: keyof typeof guardHeaders): string => `${name}: ${guardHeaders[name]}\r\n`;
const always = lineOf('X-Content-Type-Options') + lineOf('X-Frame-Options') + lineOf('Referrer-Policy');
const policyLine = lineOf('Content-Security-Policy');
const cacheLine = lineOf('Cache-Control');

/** All of them as they stand in a reply. */
export const guardLines = always + policyLine + cacheLine;

/** What node does with the first line of a reply and its headers, whichever way these were given. */
interface HeaderStore {
  _storeHeader(firstLine: string, headers: object | undefined): void;
}

const { _storeHeader: storeHeader } = http.ServerResponse.prototype as unknown as HeaderStore;

/** What node lets into no value of a header. */
const unfit = /[^\t\x20-\x7e\x80-\xff]/;

/** What was chosen for a reply stays. Where a header was set by itself before, node has all names in small letters. */
function guardsBeside(headers: object): string {
  const policy = 'Content-Security-Policy' in headers || 'content-security-policy' in headers ? '' : policyLine;
  const cache = 'Cache-Control' in headers || 'cache-control' in headers ? '' : cacheLine;
  return always + policy + cache;
}

/**
 * Every reply. The lines go behind the first one as they are: node takes each header apart and checks it, which for these takes half as
 * long as for all others. Without Strict-Transport-Security, which would hold for other services of the management node that are plain HTTP.
 */
export class GuardedResponse extends http.ServerResponse implements HeaderStore {
  /** Headers that are lines already, guards among them. */
  lines: string | undefined = undefined;
  /** Knows it as the one under way until it is sent. */
  carrier: { response: ServerResponse | undefined } | undefined = undefined;

  /** Sends a whole reply. Names of headers are ours; their values are looked at all at once. */
  reply(status: number, headers: Readonly<Record<string, string | number>>, body: string): void {
    let [lines, values] = ['', ''];
    for (const name in headers) {
      const value = headers[name]!;
      lines += `${name}: ${value}\r\n`;
      values += value;
    }
    if (unfit.test(values)) throw new TypeError(`The reply has a header that cannot be sent: ${JSON.stringify(lines)}`);
    this.lines = guardsBeside(headers) + lines;
    this.statusCode = status;
    // Node adds the length by itself. What is ASCII is the same in both encodings, and node writes Latin-1 sooner.
    this.end(body, Buffer.byteLength(body) === body.length ? 'latin1' : 'utf8');
  }

  /** Node calls it when all is sent. What waits for its next request need not keep the last. */
  override detachSocket(socket: Socket): void {
    super.detachSocket(socket);
    if (this.carrier?.response === this) this.carrier.response = undefined;
  }

  // oxlint-disable-next-line no-underscore-dangle -- node has no other way to add lines
  _storeHeader(firstLine: string, headers: object = {}): void {
    storeHeader.call(this, firstLine + (this.lines ?? guardsBeside(headers)), headers);
  }
}
