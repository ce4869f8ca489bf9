import type { ClusterNode } from './cluster-node.ts';
import { grid as texts } from '../texts/nodes.ts';
import { byName } from './ranges.ts';

export interface Color {
  readonly light: string;
  readonly dark: string;
}

const green: Color = { light: '#2ea86b', dark: '#3fbf7f' };
const grey: Color = { light: '#b4bbc7', dark: '#4a5261' };
const pale: Color = { light: '#dde1e8', dark: '#2a303a' };
const red: Color = { light: '#d64545', dark: '#f0635c' };
const amber: Color = { light: '#e0a030', dark: '#e0a94a' };
const blue: Color = { light: '#4b7bec', dark: '#6b93f5' };

/** Of work under way, such as netbooting and installing. */
const blues: readonly Color[] = [blue, { light: '#8fb0f7', dark: '#a9c1fb' }, { light: '#2f4fae', dark: '#4365c9' }];

/** Distinct also for those who see red and green alike; what is more than these is grey. */
const palette: readonly Color[] = [
  blue,
  { light: '#e07b39', dark: '#ee9455' },
  { light: '#2a9d8f', dark: '#46b9ab' },
  { light: '#9b5de5', dark: '#b383f0' },
  { light: '#d4a017', dark: '#e3bb45' },
  { light: '#d6518f', dark: '#ea78ad' },
  { light: '#5a7d2a', dark: '#86ad4e' },
  { light: '#3a86a8', dark: '#5fa9cb' },
  { light: '#8d6e63', dark: '#b1938a' },
  { light: '#6a5acd', dark: '#9488ea' },
];

export const unsaid = texts.unknown;

/** What nobody has said or asked yet stands last. */
const isOpen = (value: string): boolean => value === unsaid || value === texts.unread;

/** One of `shadings`, or the name of any attribute. */
export type Shading = string;

/** The value that decides the color of a node, or the group it stands in. */
export function valueOf(node: ClusterNode, by: Shading): string {
  if (by === 'power') return node.power ?? texts.unread;
  if (by === 'temperature') return bandOf(node);
  if (by === 'bootstep') return node.bootStep ?? unsaid;
  const value = node.attributes[by] ?? '';
  if (by === 'groups') return value.split(',').find((group) => group !== 'all' && group !== '') ?? unsaid;
  return value === '' ? unsaid : value;
}

/** The same in full, for one node. */
export function detailOf(node: ClusterNode, by: Shading): string {
  const { temperature } = node;
  return by === 'temperature' && temperature
    ? texts.temperature(temperature.value, temperature.sensor)
    : valueOf(node, by);
}

/** From the hottest down; each with the temperature from which on it counts. */
const bands: readonly (readonly [value: string, from: number, color: Color])[] = [
  [texts.beyondLimit, Infinity, red],
  [texts.hottest, 85, { light: '#e2603a', dark: '#f47b55' }],
  [texts.degreesBetween(70, 85), 70, amber],
  [texts.degreesBetween(50, 70), 50, { light: '#a9b83f', dark: '#b9c84f' }],
  [texts.degreesBetween(30, 50), 30, { light: '#2a9d8f', dark: '#46b9ab' }],
  [texts.coldest, -Infinity, blue],
];

function bandOf({ temperature }: ClusterNode): string {
  if (!temperature) return unsaid;
  const { value, isBeyond } = temperature;
  return bands.find(([, from]) => isBeyond || value >= from)![0];
}

const usual: Readonly<Record<string, Color>> = {
  on: green,
  off: grey,
  unknown: amber,
  crashed: red,
  booted: green,
  [unsaid]: pale,
  [texts.unread]: pale,
};

const bad = /fail|error|crash/;
const underWay = /ing(-on|-off)?$/;

export interface Legend {
  readonly value: string;
  readonly color: Color;
  readonly names: readonly string[];
}

/** The values that nodes have, each with its color: what is wrong first, then what many have. */
export function legendOf(nodes: readonly ClusterNode[], by: Shading): readonly Legend[] {
  const found = new Map<string, string[]>();
  for (const node of nodes) {
    const value = valueOf(node, by);
    const names = found.get(value);
    if (names) names.push(node.name);
    else found.set(value, [node.name]);
  }
  // By name, so that a value keeps its color while counts change.
  const others = [...found.keys()].filter((value) => fixed(value, by) === undefined).sort(byName);
  const busy = by === 'status' ? others.filter((value) => underWay.test(value)) : [];
  const still = others.filter((value) => !busy.includes(value));
  const colorOf = (value: string): Color =>
    fixed(value, by) ??
    palette[still.indexOf(value)] ??
    (busy.includes(value) ? blues[busy.indexOf(value) % blues.length]! : grey);
  return [...found]
    .map(([value, names]) => ({ value, names, color: colorOf(value) }))
    .sort(
      (a, b) =>
        (by === 'temperature' ? rank(a.value) - rank(b.value) : 0) ||
        Number(bad.test(b.value)) - Number(bad.test(a.value)) ||
        Number(isOpen(a.value)) - Number(isOpen(b.value)) ||
        b.names.length - a.names.length,
    );
}

/** The hottest first, and what is not known last. */
const rank = (value: string): number => bands.findIndex(([band]) => band === value) >>> 0;

function fixed(value: string, by: Shading): Color | undefined {
  if (value === unsaid) return pale;
  if (by === 'temperature') return bands.find(([band]) => band === value)?.[2];
  if (by !== 'power' && by !== 'status' && by !== 'bootstep') return undefined;
  if (Object.hasOwn(usual, value)) return usual[value];
  return bad.test(value) ? red : undefined;
}

/** How the status of a node is shown: as an error, as work under way, or as it is. */
export const toneOfStatus = (status: string): 'critical' | 'accent' | '' =>
  bad.test(status) ? 'critical' : underWay.test(status) ? 'accent' : '';

/** Whether somebody should look at the node. */
export const needsAttention = ({ trouble, attributes }: ClusterNode): boolean =>
  trouble !== undefined || bad.test(attributes['status'] ?? '');

/** What somebody should look at, the worst first. */
export function troubles(
  nodes: readonly ClusterNode[],
): { readonly node: ClusterNode; readonly why: string; readonly isBad: boolean }[] {
  return nodes
    .flatMap((node) => {
      const status = node.attributes['status'] ?? '';
      if (bad.test(status)) return [{ node, why: texts.badStatus(status), isBad: true }];
      if (node.trouble !== undefined) return [{ node, why: node.trouble, isBad: node.severity !== 'warning' }];
      return [];
    })
    .sort((a, b) => Number(b.isBad) - Number(a.isBad));
}
