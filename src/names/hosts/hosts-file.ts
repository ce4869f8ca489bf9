import { lookup } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { Fault } from '../../core/errors.ts';
import { type Ip, ipKind, ipText, parseIp } from '../../core/ip.ts';
import { limiter } from '../../core/limiter.ts';
import type { Resolve } from '../../objects/host-names.ts';

/** A line of a hosts file; comments, blank lines and lines without a valid address have no address. */
export interface HostLine {
  /** As it stands in the file, with its line end. Every character is one byte. */
  readonly text: string;
  readonly ip: Ip | undefined;
  readonly names: readonly string[];
  /** The address as `ipText` spells it, to find lines by; of a line that has none, whatever stands in its place. */
  readonly address: string;
  /** The word behind it: the first name if it is an address. */
  readonly first: string | undefined;
}

/** Most lines of a large file are nobody's business, so what costs time is found out when somebody asks. */
class ParsedLine implements HostLine {
  readonly text: string;
  #words: readonly string[] | undefined;
  #ip: Ip | undefined | null = null;

  constructor(text: string) {
    this.text = text;
  }

  get ip(): Ip | undefined {
    if (this.#ip === null) this.#ip = parseIp(withoutZone(this.#allWords()[0]!));
    return this.#ip;
  }

  get names(): readonly string[] {
    return this.ip ? this.#allWords().slice(1) : [];
  }

  get address(): string {
    const written = this.#allWords()[0]!;
    // IPv4 addresses have one spelling only.
    return written.includes(':') && this.ip ? ipText(this.ip) : written;
  }

  get first(): string | undefined {
    return this.#allWords()[1];
  }

  #allWords(): readonly string[] {
    if (this.#words) return this.#words;
    const mark = this.text.indexOf('#');
    return (this.#words = (mark < 0 ? this.text : this.text.slice(0, mark)).trim().split(/[ \t]+/));
  }
}

/** A zone, as in fe80::1%lo, is not part of the address. */
const withoutZone = (address: string): string => address.split('%', 1)[0]!;

/** What a new file begins with. */
export const beginning = '127.0.0.1 localhost\n';

/** The lines of a hosts file; none if the file does not exist. */
export function readHosts(path: string): HostLine[] {
  try {
    // Reading a pipe would never end.
    if (!statSync(path).isFile()) throw new Error('it is not a file');
    return parseHosts(readFileSync(path, 'latin1'));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return [];
    throw new Fault('unavailable', `The hosts file ${path} cannot be read: ${message}.`, { cause: error });
  }
}

/** Bytes as latin1 text: whatever encoding other lines are in, they come out as they went in. */
export const parseHosts = (text: string): HostLine[] =>
  (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).map((line) => new ParsedLine(line));

/** The first address of each name, in lower case, that can be a node's. */
export function addressesByName(lines: readonly HostLine[]): ReadonlyMap<string, Ip> {
  const known = new Map<string, Ip>();
  for (const { ip, names } of lines) {
    const unknown = names.map((name) => name.toLowerCase()).filter((name) => !known.has(name));
    if (!ip || unknown.length === 0 || ipKind(ip) !== 'host') continue;
    for (const name of unknown) known.set(name, ip);
  }
  return known;
}

/** Each lookup keeps a thread of the few that file access needs too. */
const lookupsAtOnce = 2;
/** Milliseconds after which a lookup has found nobody to ask, and of such lookups together after which none is begun any more. */
const lookupTimeout = 1_000;
const lostTimeout = 10_000;
/** Milliseconds after which none is begun in any case. */
const totalTimeout = 60_000;

/** Finds addresses of names in the hosts file and, if asked to, the way the operating system does. */
export function makeResolve(readLines: () => readonly HostLine[], askSystem: boolean, lookUp: Resolve = ask): Resolve {
  // Most requests are about nodes that have addresses; they do not pay for it.
  let cache: ReadonlyMap<string, Ip> | undefined;
  const began = performance.now();
  let lost = 0;
  const inTurn = limiter(lookupsAtOnce);
  return async (name) => {
    const found = (cache ??= addressesByName(readLines())).get(name.toLowerCase());
    if (found || !askSystem) return found;
    return inTurn(async () => {
      const start = performance.now();
      if (lost >= lostTimeout || start - began >= totalTimeout) return undefined;
      const address = await lookUp(name);
      const took = performance.now() - start;
      if (took >= lookupTimeout) lost += took;
      return address;
    });
  };
}

async function ask(name: string): Promise<Ip | undefined> {
  try {
    return parseIp((await lookup(name)).address);
  } catch {
    return undefined;
  }
}
