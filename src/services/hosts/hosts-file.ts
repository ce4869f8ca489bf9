import { readFileSync } from 'node:fs';
import { type Ip, parseIp } from '../../core/ip.ts';

/** A line of a hosts file; comments, blank lines and lines without a valid address have no address. */
export interface HostLine {
  /** As it stands in the file, with its line end. Every character is one byte. */
  readonly text: string;
  readonly ip: Ip | undefined;
  /** All names in their order. */
  readonly names: readonly string[];
}

/** What a new file begins with. */
export const beginning = '127.0.0.1 localhost\n';

/** The lines of a hosts file; none if the file does not exist. */
export function readHosts(path: string): HostLine[] {
  try {
    return parseHosts(readFileSync(path, 'latin1'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Bytes as latin1 text: whatever encoding other lines are in, they come out as they went in. */
export const parseHosts = (text: string): HostLine[] => (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).map(parseLine);

function parseLine(text: string): HostLine {
  const mark = text.indexOf('#');
  const [address = '', ...names] = (mark < 0 ? text : text.slice(0, mark)).trim().split(/[ \t]+/);
  // A zone, as in fe80::1%lo, is not part of the address.
  const ip = parseIp(address.split('%', 1)[0]!);
  return { text, ip, names: ip ? names : [] };
}
