import type { ClusterNode } from './cluster-node.ts';
import { type Shading, valueOf } from './colors.ts';
import { between, type Group, labelHeight, type Layout, type Place, type Section, wantedHeight } from './places.ts';
import { layOutRacks, racksOf } from './racks.ts';
import { byName } from './ranges.ts';

const sizes = [22, 18, 15, 12, 10, 8, 7, 6, 5] as const;
/** So few nodes have room for their names. */
const mostNamed = 120;
const namedHeight = 30;
const namedWidth = 104;

export function groupsOf(nodes: readonly ClusterNode[], by: Shading): Group[] {
  if (by === '') return nodes.length === 0 ? [] : [['', nodes]];
  const found = new Map<string, ClusterNode[]>();
  for (const node of nodes) {
    const value = valueOf(node, by);
    const own = found.get(value);
    if (own) own.push(node);
    else found.set(value, [node]);
  }
  return [...found].sort(([a], [b]) => byName(a, b));
}

/** Racks whose nodes have units are drawn as racks, all other groups as blocks below them. */
export function layOut(groups: readonly Group[], by: Shading, width: number): Layout {
  const racks = by === 'rack' ? racksOf(groups) : [];
  if (racks.length === 0) return layOutBlocks(groups, width);
  const drawn = layOutRacks(racks, width);
  const known = new Set(racks.map(({ label }) => label));
  const others = groups.filter(([label]) => !known.has(label));
  if (others.length === 0) return drawn;
  const below = layOutBlocks(others, width);
  const y = drawn.height + 2 * between;
  return {
    isNamed: drawn.isNamed && below.isNamed,
    height: y + below.height,
    sections: [...drawn.sections, ...below.sections.map((section) => ({ ...section, y: section.y + y }))],
    nodes: [...drawn.nodes, ...below.nodes],
    cells: [...drawn.cells, ...below.cells.map((cell) => ({ ...cell, y: cell.y + y }))],
  };
}

/** The largest cells with which all nodes fit without much scrolling; the smallest otherwise. */
function layOutBlocks(groups: readonly Group[], width: number): Layout {
  if (groups.reduce((sum, [, own]) => sum + own.length, 0) <= mostNamed) return blocks(groups, width, namedHeight);
  const fits = (cell: number): boolean => heightOf(groups, width, cell) <= wantedHeight;
  return blocks(groups, width, sizes.find(fits) ?? sizes.at(-1)!);
}

const gapOf = (cell: number): number => (cell > 9 ? 3 : cell > 6 ? 2 : 1);

function columnsOf(width: number, cell: number): number {
  const gap = gapOf(cell);
  return Math.max(1, Math.floor((width + gap) / ((cell === namedHeight ? namedWidth : cell) + gap)));
}

const heightOf = (groups: readonly Group[], width: number, cell: number): number =>
  groups.reduce((sum, group) => sum + groupHeight(group, columnsOf(width, cell), cell), -between);

const groupHeight = ([label, own]: Group, columns: number, cell: number): number =>
  (label === '' ? 0 : labelHeight) + Math.ceil(own.length / columns) * (cell + gapOf(cell)) + between;

function blocks(groups: readonly Group[], width: number, cell: number): Layout {
  const gap = gapOf(cell);
  const columns = columnsOf(width, cell);
  const isNamed = cell === namedHeight;
  const cellWidth = isNamed ? namedWidth : cell;
  const sections: Section[] = [];
  const nodes: ClusterNode[] = [];
  const cells: Place[] = [];
  let y = 0;
  for (const group of groups) {
    const [label, own] = group;
    sections.push({ label, count: own.length, x: 0, y, width });
    const top = y + (label === '' ? 0 : labelHeight);
    for (const [i, node] of own.entries()) {
      nodes.push(node);
      const row = Math.floor(i / columns);
      cells.push({ x: (i % columns) * (cellWidth + gap), y: top + row * (cell + gap), width: cellWidth, height: cell });
    }
    y += groupHeight(group, columns, cell);
  }
  return { isNamed, height: Math.max(0, y - between), sections, nodes, cells };
}

/** The index of the node at a point; undefined: there is none. */
export function nodeAt({ cells }: Layout, x: number, y: number): number | undefined {
  const found = cells.findIndex(
    (cell) => x >= cell.x && x <= cell.x + cell.width && y >= cell.y && y <= cell.y + cell.height,
  );
  return found === -1 ? undefined : found;
}

/** The index of the nearest cell in a direction; the same if there is none. */
export function neighbor({ cells }: Layout, from: number, dx: number, dy: number): number {
  const start = cells[from]!;
  let [best, least] = [from, Number.POSITIVE_INFINITY];
  for (const [i, cell] of cells.entries()) {
    const [x, y] = [cell.x - start.x, cell.y - start.y];
    const ahead = x * dx + y * dy;
    const aside = Math.abs(x * dy) + Math.abs(y * dx);
    const distance = ahead + 4 * aside;
    if (ahead > 0 && distance < least) [best, least] = [i, distance];
  }
  return best;
}

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** The nodes whose cells a rectangle touches. */
export const nodesIn = ({ nodes, cells }: Layout, box: Box): string[] =>
  cells.flatMap(({ x, y, width, height }, i) =>
    x + width >= box.left && x <= box.right && y + height >= box.top && y <= box.bottom ? [nodes[i]!.name] : [],
  );
