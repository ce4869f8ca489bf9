import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ClusterNode } from '../../web/model/cluster-node.ts';
import { legendOf, toneOfStatus } from '../../web/model/colors.ts';
import { groupsOf, layOut, neighbor, nodeAt, nodesIn } from '../../web/model/layout.ts';
import type { Layout } from '../../web/model/places.ts';

const node = (name: string, attributes: Record<string, string>): ClusterNode => ({ name, attributes });

const drawn = (nodes: readonly ClusterNode[], by = 'rack', width = 800): Layout =>
  layOut(groupsOf(nodes, by), by, width);

const placeOf = ({ nodes, cells }: Layout, name: string) => cells[nodes.findIndex((each) => each.name === name)]!;

const three = [
  node('low', { rack: 'r1', unit: '1' }),
  node('high', { rack: 'r1', unit: 'U12' }),
  node('left', { rack: 'r2', unit: '4' }),
  node('right', { rack: 'r2', unit: '4' }),
];

describe('the grid of nodes', () => {
  it('draws racks beside each other, with unit 1 at the bottom and nodes that share a unit side by side', () => {
    const layout = drawn(three);
    expect(layout.sections.map(({ label, count, rack }) => [label, count, rack?.units])).toEqual([
      ['r1', 2, 12],
      ['r2', 2, 12],
    ]);
    const [low, high] = [placeOf(layout, 'low'), placeOf(layout, 'high')];
    expect([low.x, low.y - high.y]).toEqual([high.x, 11 * layout.sections[0]!.rack!.unitHeight]);
    const [left, right] = [placeOf(layout, 'left'), placeOf(layout, 'right')];
    expect([left.y, left.x + left.width <= right.x, left.x > low.x + low.width]).toEqual([right.y, true, true]);
    for (const [i, { x, y, height }] of layout.cells.entries()) {
      expect(nodeAt(layout, x + 1, y + 1)).toBe(i);
      expect(y + height).toBeLessThanOrEqual(layout.height);
    }
  });

  it('draws a rack as a block below the others if a node has no unit or an impossible one, and so every other group', () => {
    for (const unit of ['', '999', 'top']) {
      const layout = drawn([...three, node('lost', { rack: 'r0', unit }), node('none', {})]);
      expect(layout.sections.map(({ label, rack }) => [label, rack !== undefined])).toEqual([
        ['r1', true],
        ['r2', true],
        ['not known', false],
        ['r0', false],
      ]);
      expect(placeOf(layout, 'lost').y).toBeGreaterThan(placeOf(layout, 'low').y);
    }
    expect(drawn(three, 'arch').sections.map(({ rack }) => rack)).toEqual([undefined]);
  });

  it('moves to the nearest cell in a direction and stays where there is none', () => {
    const layout = drawn(three);
    const name = (from: string, dx: number, dy: number): string =>
      layout.nodes[
        neighbor(
          layout,
          layout.nodes.findIndex((each) => each.name === from),
          dx,
          dy,
        )
      ]!.name;
    expect([name('low', 0, -1), name('high', 0, 1), name('left', 1, 0), name('low', 1, 0)]).toEqual([
      'high',
      'low',
      'right',
      'left',
    ]);
    expect([name('low', 0, 1), name('low', -1, 0)]).toEqual(['low', 'low']);
  });

  it('finds the nodes that a rectangle touches, and fits many into the width', () => {
    const many = Array.from({ length: 10_000 }, (_, i) =>
      node(`n${i}`, { rack: `r${Math.floor(i / 40)}`, unit: String(1 + (i % 40)) }),
    );
    for (const by of ['', 'rack']) {
      const layout = drawn(many, by);
      const box = { left: 0, top: 0, right: 800, bottom: layout.height };
      expect(nodesIn(layout, box)).toHaveLength(10_000);
      expect(Math.max(...layout.cells.map(({ x, width }) => x + width))).toBeLessThanOrEqual(800);
    }
    expect(drawn([], '').height).toBe(0);
  });
});

describe('the colors of the grid', () => {
  it('tell power that nobody has read from power that the BMC does not know', () => {
    const nodes: ClusterNode[] = [
      ...['a', 'b', 'c'].map((name) => node(name, {})),
      { ...node('d', {}), power: 'unknown' },
      { ...node('e', {}), power: 'on' },
    ];
    expect(legendOf(nodes, 'power').map(({ value, names }) => [value, names.length])).toEqual([
      ['unknown', 1],
      ['on', 1],
      ['not read', 3],
    ]);
    expect(legendOf(nodes, 'status').map(({ value }) => value)).toEqual(['not known']);
  });

  it('are those of the status on the page of a node', () => {
    expect(['failed', 'installing', 'booted'].map(toneOfStatus)).toEqual(['critical', 'accent', '']);
  });
});

/** The values of custom properties in the block that begins with this selector. */
function colorsIn(css: string, selector: string): Map<string, string> {
  const block = css.slice(css.indexOf(selector)).split('}')[0]!;
  return new Map([...block.matchAll(/(--[\w-]+):\s*(#[\da-f]+);/g)].map(([, name, value]) => [name!, value!]));
}

it('the manual has the colors of the console, in both themes', () => {
  const [page, tokens] = ['share/reference-page/page.css', 'web/design/1-tokens.css'].map((name) =>
    readFileSync(join(import.meta.dirname, '../..', name), 'utf8'),
  ) as [string, string];
  const dark = page.slice(page.indexOf('@media (prefers-color-scheme: dark)'));
  for (const [manual, console] of [
    [colorsIn(page, ':root {'), colorsIn(tokens, ':root {')],
    [colorsIn(dark, ':root {'), colorsIn(tokens, ':root[data-theme="dark"] {')],
  ] as const) {
    expect(manual.size).toBeGreaterThan(8);
    for (const [name, value] of manual) expect([name, value]).toEqual([name, console.get(name)]);
  }
});
