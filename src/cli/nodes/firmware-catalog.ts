import { UsageError } from '../errors.ts';
import { readYaml } from '../formats.ts';
import { byName } from '../lines.ts';
import { foldNames } from './results.ts';

/** Model patterns of a site, each with the versions that its components are to have. */
export type Catalog = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** `GET /nodes/.../firmware` of one node. */
export type NodeFirmware = Readonly<Record<string, string | readonly string[]>>;

/** Of the reply: it is no component. */
const modelLabel = 'System Model';

export async function readCatalog(text: string, file: string): Promise<Catalog> {
  const wrong = (what: string): UsageError =>
    new UsageError(`${file}: ${what}. Write lines such as "PowerEdge R7*:", and below, indented, "bios: 2.15.1".`);
  const read = await readYaml(text, file);
  if (!(read instanceof Map) || read.size === 0) throw wrong('it has no models');
  for (const [model, components] of read as Map<unknown, unknown>) {
    if (typeof model !== 'string' || model === '') throw wrong('a model is no text');
    if (!(components instanceof Map)) throw wrong(`"${model}" has no components`);
    for (const [component, version] of components as Map<unknown, unknown>)
      if (typeof component !== 'string' || typeof version !== 'string' || version === '')
        throw wrong(`a component of "${model}" has no version`);
  }
  return read as Catalog;
}

/** Whether a text is what a pattern with `*` for anything says, whatever the case. */
export function fitsPattern(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.toLowerCase().split('*');
  const last = rest.pop();
  const wanted = text.toLowerCase();
  if (last === undefined) return wanted === first;
  if (!wanted.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = wanted.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return wanted.length - last.length >= at && wanted.endsWith(last);
}

/** What a model is to have; later entries of the catalog count more. */
function wantedFor(catalog: Catalog, model: string): ReadonlyMap<string, string> | undefined {
  const entries = [...catalog].flatMap(([pattern, components]) => (fitsPattern(pattern, model) ? [components] : []));
  return entries.length === 0 ? undefined : new Map(entries.flatMap((components) => [...components]));
}

/** -1: the first is older; undefined: nobody can say. */
export function compareVersions(a: string, b: string): -1 | 0 | 1 | undefined {
  if (a === b) return 0;
  const [ours, theirs] = [a, b].map((version) => version.split(/[^a-z0-9]+/i));
  for (let i = 0; i < Math.max(ours!.length, theirs!.length); i++) {
    const [one = '', other = ''] = [ours![i], theirs![i]];
    if (one === other) continue;
    if (/^\d*$/.test(one) && /^\d*$/.test(other)) {
      if (Number(one) === Number(other)) continue;
      return Number(one) < Number(other) ? -1 : 1;
    }
    return undefined;
  }
  return undefined;
}

interface Shown {
  readonly component: string;
  readonly label: string;
  readonly version: string;
}

function shownOf(firmware: NodeFirmware): readonly Shown[] {
  return Object.entries(firmware).flatMap(([label, versions]) => {
    if (label === modelLabel) return [];
    const component = /\(([^()]+)\)$/.exec(label)?.[1] ?? label;
    return [versions].flat().map((version) => ({ component, label, version }));
  });
}

export interface Comparison {
  readonly lines: readonly string[];
  /** What is missing from the catalog, or from the nodes. */
  readonly notes: readonly string[];
  /** Something is behind, or is another version that cannot be compared, or is not there. */
  readonly isBehind: boolean;
}

/** The versions of each component with the nodes that have them; with a catalog, of what is in it, and how they stand to that. */
export function compareFirmware(nodes: ReadonlyMap<string, NodeFirmware>, catalog?: Catalog): Comparison {
  const groups = new Map<string, { readonly label: string; readonly versions: Map<string, string[]> }>();
  const missing = new Map<string, string[]>();
  const unlisted = new Map<string, string[]>();
  let isBehind = false;
  const add = (to: Map<string, string[]>, key: string, node: string): void => {
    const names = to.get(key);
    if (names) names.push(node);
    else to.set(key, [node]);
  };
  for (const [node, firmware] of [...nodes].toSorted(([a], [b]) => byName(a, b))) {
    const model = [firmware[modelLabel] ?? ''].flat()[0] ?? '';
    const wanted = catalog && wantedFor(catalog, model);
    if (catalog && !wanted) {
      add(unlisted, model || 'without a model', node);
      continue;
    }
    const shown = shownOf(firmware);
    const found = new Set<string>();
    for (const { component, label, version } of shown) {
      const entry = wanted && [...wanted].find(([name]) => fitsPattern(name, component) || fitsPattern(name, label));
      if (wanted && !entry) continue;
      if (entry) found.add(entry[0]);
      const verdict = entry ? verdictOf(version, entry[1]) : '';
      if (verdict !== '' && !verdict.startsWith(', ahead')) isBehind = true;
      const group = groups.get(component) ?? { label, versions: new Map<string, string[]>() };
      groups.set(component, group);
      add(group.versions, `${version || 'no version'}\0${verdict}`, node);
    }
    for (const [component] of wanted ?? []) if (!found.has(component)) add(missing, component, node);
  }
  const lines = [...groups.values()].flatMap(({ label, versions }) => {
    const count = new Set([...versions.keys()].map((key) => key.split('\0')[0])).size;
    const each = [...versions].map(([key, names]) => {
      const [version = '', verdict = ''] = key.split('\0');
      return `  ${version}: ${foldNames(names)}${verdict}`;
    });
    return [`${label}: ${count === 1 ? '1 version' : `${count} versions`}`, ...each];
  });
  const notes = [
    ...[...missing].map(
      ([component, names]) => `${foldNames(names)} shows no "${component}", which the catalog names.`,
    ),
    ...[...unlisted].map(([model, names]) => `The catalog has no entry for ${foldNames(names)} (${model}).`),
  ];
  return { lines, notes, isBehind: isBehind || missing.size > 0 };
}

function verdictOf(version: string, wanted: string): string {
  const order = compareVersions(version, wanted);
  if (order === 0) return '';
  const word = order === -1 ? 'behind' : order === 1 ? 'ahead' : 'another version';
  return `, ${word}: the catalog has ${wanted}`;
}
