import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { Fault } from './errors.ts';
import { parseIp } from './ip.ts';

/** A name, an IPv4 address or one of IPv6 in brackets, and a port. Clients that have neither send it empty. */
const hostForm = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i;

/** What is wrong with the header Host: whatever stands before us and we could otherwise take a request for that of different hosts. */
export function hostProblem({ rawHeaders, headers, httpVersion }: IncomingMessage): string | undefined {
  if (headers.host === undefined) return httpVersion === '1.1' ? 'The header Host is missing.' : undefined;
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === 4 && rawHeaders[i]!.toLowerCase() === 'host') count++;
  if (count > 1) return 'The header Host was sent more than once.';
  return hostForm.test(headers.host) ? undefined : 'The header Host names no host.';
}

/** Digits and dots, or parts such as 0x7f: what the system's resolver reads as an address, in its own ways. */
const numeric = /^(?:\d*|0x[\da-f]*)(?:\.(?:\d*|0x[\da-f]*))*$/i;
const ascii = /^[\x20-\x7e]*$/;

/** What is wrong with an address, if anything. The resolver takes 010 for 8 and 10.1 for 10.0.0.1: a slip would name another machine. */
export function checkHostAddress(text: string): Fault | undefined {
  if (parseIp(text) || isIPv6(text)) return undefined;
  const name = text.trim();
  const plain = ascii.test(name) ? name : domainToASCII(name);
  if (!numeric.test(plain)) return undefined;
  return new Fault(
    'invalid',
    `"${text}" is neither an IP address nor a host name; an IPv4 address is four decimal numbers from 0 to 255 without leading zeros, such as 10.0.0.7.`,
  );
}

export interface ListenAddress {
  host: string;
  port: number;
}

const hostName = /^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?)*$/;

/** Reads `HOST:PORT` or `[IPv6]:PORT`; anything else is undefined. Port 0 lets the system choose. */
export function parseListen(text: string): ListenAddress | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  if (match === null) return undefined;
  const [, bracketed, plain, digits] = match;
  const port = Number(digits);
  if (port > 65535) return undefined;
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: bracketed, port } : undefined;
  const host = plain ?? '';
  const looksNumeric = /^[\d.]+$/.test(host);
  return isIP(host) === 4 || (!looksNumeric && hostName.test(host)) ? { host, port } : undefined;
}

/** The same as text, ready for a URL. */
export function formatListen({ host, port }: ListenAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

const lowestPort = 100;
const highestPort = 65_535;

/** The port that bmcport means; undefined: the usual one, also for small numbers such as `2 0`, which choose a connector. False: neither. */
export function processorPort(text: string): number | undefined | false {
  const parts = text.trim().split(/[\s,]+/);
  if (text.trim() === '') return undefined;
  if (!parts.every((part) => /^(0|[1-9]\d{0,4})$/.test(part))) return false;
  const numbers = parts.map(Number);
  if (numbers.every((number) => number < lowestPort)) return undefined;
  const [port = 0, ...more] = numbers;
  return more.length === 0 && port <= highestPort ? port : false;
}

export const noProcessorPort = `is neither a network port (${lowestPort} to ${highestPort}) nor the choice of a connector (a number below ${lowestPort})`;
