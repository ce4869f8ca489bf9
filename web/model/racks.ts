// Racks as somebody who stands before them sees them: unit 1 is at the bottom.
import type { ClusterNode } from './cluster-node.ts';
import { unsaid } from './colors.ts';
import { between, type Group, labelHeight, type Layout, type Place, type Section, wantedHeight } from './places.ts';

interface Filled {
  readonly label: string;
  readonly units: ReadonlyMap<number, readonly ClusterNode[]>;
}

/** Higher ones are typing mistakes. */
const mostUnits = 60;
/** From the one with room for names to the one for large clusters. */
const forms = [
  { unitHeight: 18, width: 150, gutter: 24, gap: 20, isNamed: true },
  { unitHeight: 12, width: 96, gutter: 22, gap: 16, isNamed: false },
  { unitHeight: 7, width: 48, gutter: 0, gap: 12, isNamed: false },
  { unitHeight: 4, width: 30, gutter: 0, gap: 8, isNamed: false },
  { unitHeight: 3, width: 24, gutter: 0, gap: 8, isNamed: false },
] as const;
/** Racks are higher than blocks of the same nodes, and more of them are beside each other. */
const rackHeight = 1.5 * wantedHeight;

export function unitOf({ attributes }: ClusterNode): number | undefined {
  const [, digits] = /^u?(\d{1,3})\b/i.exec(attributes['unit'] ?? '') ?? [];
  const unit = Number(digits ?? 0);
  return unit >= 1 && unit <= mostUnits ? unit : undefined;
}

/** Those of whose nodes each has a unit. Nodes in the same unit share it. */
export function racksOf(groups: readonly Group[]): Filled[] {
  return groups.flatMap(([label, nodes]) => {
    const units = new Map<number, ClusterNode[]>();
    for (const node of nodes) {
      const unit = unitOf(node);
      if (unit === undefined || label === unsaid) return [];
      const own = units.get(unit);
      if (own) own.push(node);
      else units.set(unit, [node]);
    }
    return [{ label, units }];
  });
}

export function layOutRacks(racks: readonly Filled[], width: number): Layout {
  const units = Math.max(...racks.flatMap((rack) => [...rack.units.keys()]));
  const inRow = (form: (typeof forms)[number]): number =>
    Math.max(1, Math.floor((width + form.gap) / (form.width + form.gap)));
  const step = (form: (typeof forms)[number]): number => labelHeight + units * form.unitHeight + 2 * between;
  const form = forms.find((each) => Math.ceil(racks.length / inRow(each)) * step(each) <= rackHeight) ?? forms.at(-1)!;
  const sections: Section[] = [];
  const nodes: ClusterNode[] = [];
  const cells: Place[] = [];
  for (const [i, rack] of racks.entries()) {
    const x = (i % inRow(form)) * (form.width + form.gap);
    const y = Math.floor(i / inRow(form)) * step(form);
    const count = [...rack.units.values()].reduce((sum, own) => sum + own.length, 0);
    const { unitHeight, gutter } = form;
    sections.push({ label: rack.label, count, x, y, width: form.width, rack: { units, unitHeight, gutter } });
    for (const unit of [...rack.units.keys()].sort((a, b) => b - a)) {
      const own = rack.units.get(unit)!;
      const share = (form.width - gutter) / own.length;
      for (const [k, node] of own.entries()) {
        nodes.push(node);
        cells.push({
          x: x + gutter + k * share,
          y: y + labelHeight + (units - unit) * unitHeight,
          width: Math.max(1, share - (k < own.length - 1 ? 1 : 0)),
          height: unitHeight - 1,
        });
      }
    }
  }
  const rows = Math.ceil(racks.length / inRow(form));
  return { isNamed: form.isNamed, height: rows * step(form) - 2 * between + 2, sections, nodes, cells };
}
