import { type Ip, ipText } from '../../core/ip.ts';
import type { HostEntry } from '../../objects/host-names.ts';
import type { ManagementNode } from '../../objects/networks.ts';
import { attemptFor, type RefusedNodes } from '../../objects/select.ts';
import type { HostLine } from './hosts-file.ts';
import { formatLine, isOwnEntry, isOwnLine, type LineFormat } from './own-lines.ts';

type Lines = readonly number[];
const none: Lines = [];

interface Wanted {
  readonly name: string;
  readonly ip: Ip | undefined;
}

/** Finds lines by their address and by their first name, but not the management node's own. */
class LineIndex {
  readonly #ownNames = new Map<string, string[]>();
  readonly #byAddress = new Map<string, number[]>();
  readonly #byName = new Map<string, number[]>();

  /** Nothing else than what is `wanted` can be asked for: all other lines of a large file cost little. */
  constructor(lines: readonly HostLine[], isOwn: (line: HostLine) => boolean, wanted: readonly Wanted[]) {
    const names = new Set(wanted.map(({ name }) => name));
    const addresses = new Set(wanted.map(({ ip }) => (ip ? ipText(ip) : '')));
    for (const [i, line] of lines.entries()) {
      const { address, first } = line;
      if (first === undefined) continue;
      const isAt = addresses.has(address);
      const named = namesMeant(first, names);
      if ((!isAt && named.length === 0) || !line.ip) continue;
      if (isOwn(line)) {
        if (isAt) note(this.#ownNames, address, ...line.names.map((name) => name.toLowerCase()));
        continue;
      }
      if (isAt) note(this.#byAddress, address, i);
      for (const name of named) note(this.#byName, name, i);
    }
  }

  /** The names, in lower case, that lines of the management node give the address; undefined if there is no such line. */
  ownNames(ip: Ip): readonly string[] | undefined {
    return this.#ownNames.get(ipText(ip));
  }

  at(ip: Ip): Lines {
    return this.#byAddress.get(ipText(ip)) ?? none;
  }

  /** Lines whose first name is this one, alone or with a domain. */
  named(name: string): Lines {
    return this.#byName.get(name) ?? none;
  }
}

/** The names that a first name can be, with a domain behind them; a name that means itself, as n1-bond0.100 does, has none. */
function namesMeant(first: string, names: ReadonlySet<string>): string[] {
  if (names.has(first)) return [first];
  const meant: string[] = [];
  for (let dot = first.indexOf('.'); dot > 0; dot = first.indexOf('.', dot + 1))
    if (names.has(first.slice(0, dot))) meant.push(first.slice(0, dot));
  return meant;
}

function note<Item>(index: Map<string, Item[]>, key: string, ...items: Item[]): void {
  const known = index.get(key);
  if (known) known.push(...items);
  else index.set(key, items);
}

/**
 * The file with the entries in it. An entry takes the place of the first line that has its address or its first name, further such
 * lines go, and all others stay as they are byte for byte. Lines of the management node itself are never touched, and none is added
 * that would count as its own: it could never be taken out again. A node that has such an entry is refused.
 */
export function mergeHosts(
  lines: readonly HostLine[],
  entries: readonly HostEntry[],
  own: ManagementNode,
  format: LineFormat,
  refused?: RefusedNodes,
): { text: string; warnings: readonly string[] } {
  const index = new LineIndex(lines, (line) => isOwnLine(own, line), entries.map(wantedOf));
  const possible: HostEntry[] = [];
  const warnings: string[] = [];
  for (const entry of entries) {
    attemptFor(refused, entry.node, () => {
      const names = index.ownNames(entry.ip);
      if ([entry.short, entry.long].some((name) => names?.includes(name.toLowerCase()))) return;
      if (isOwnEntry(own, entry, names !== undefined)) warnings.push(ownWarning(entry));
      else possible.push(entry);
    });
  }
  const ours = possible.filter(({ node }) => !refused?.has(node));
  const lineOf = linesFor(ours, index);
  const replaced = new Map<number, string>();
  for (const entry of ours)
    for (const line of [...index.at(entry.ip), ...index.named(entry.short)]) replaced.set(line, '');
  const added: string[] = [];
  for (const entry of ours) {
    const line = lineOf.get(entry);
    if (line === undefined) added.push(formatLine(entry, format));
    else replaced.set(line, formatLine(entry, format));
  }
  return { text: assemble(lines, replaced, added), warnings };
}

const wantedOf = ({ short, ip }: HostEntry): Wanted => ({ name: short, ip });

const ownWarning = ({ node, ip, short }: HostEntry): string =>
  `Ignoring ${ipText(ip)} ${short}: node '${node}' is the management node, whose lines stay as they are.`;

/** The file without the lines that begin with one of the names, and without those that have a name together with its address. */
export function removeHosts(lines: readonly HostLine[], named: readonly Wanted[], own: ManagementNode): string {
  const index = new LineIndex(lines, (line) => isOwnLine(own, line), named);
  const removed = new Map<number, string>();
  for (const { name, ip } of named) {
    for (const line of index.named(name)) removed.set(line, '');
    for (const line of linesWith(index, lines, { name, ip })) removed.set(line, '');
  }
  return assemble(lines, removed, []);
}

/** The file without the lines that have a name together with its address. */
export function removeWritten(lines: readonly HostLine[], written: readonly Wanted[], own: ManagementNode): string {
  const index = new LineIndex(lines, (line) => isOwnLine(own, line), written);
  const removed = written.flatMap((each) => linesWith(index, lines, each));
  return assemble(lines, new Map(removed.map((line) => [line, ''])), []);
}

const linesWith = (index: LineIndex, lines: readonly HostLine[], { name, ip }: Wanted): readonly number[] =>
  (ip ? index.at(ip) : []).filter((line) =>
    lines[line]!.names.some((each) => each === name || each.startsWith(`${name}.`)),
  );

/** The lines that entries take; an entry without one is new. */
function linesFor(entries: readonly HostEntry[], index: LineIndex): ReadonlyMap<HostEntry, number> {
  const lineOf = new Map<HostEntry, number>();
  const taken = new Set<number>();
  const take = (entry: HostEntry, candidates: readonly number[]): void => {
    const free = candidates.filter((line) => !taken.has(line));
    if (free.length === 0 || lineOf.has(entry)) return;
    const line = free.reduce((a, b) => Math.min(a, b));
    lineOf.set(entry, line);
    taken.add(line);
  };
  // Where a name has several addresses, the first of them must not take the line of another.
  const repeated = repeatedNames(entries);
  for (const entry of entries) {
    if (!repeated.has(entry.short)) continue;
    const named = index.named(entry.short);
    take(
      entry,
      index.at(entry.ip).filter((line) => named.includes(line)),
    );
  }
  for (const entry of entries) take(entry, [...index.at(entry.ip), ...index.named(entry.short)]);
  return lineOf;
}

function repeatedNames(entries: readonly HostEntry[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const { short } of entries) (seen.has(short) ? repeated : seen).add(short);
  return repeated;
}

function assemble(lines: readonly HostLine[], replaced: ReadonlyMap<number, string>, added: readonly string[]): string {
  const pieces = lines.map(({ text }, i) => replaced.get(i) ?? text);
  const last = pieces.findLast((piece) => piece !== '');
  if (added.length > 0 && last !== undefined && !last.endsWith('\n')) pieces.push('\n');
  return [...pieces, ...added].join('');
}
