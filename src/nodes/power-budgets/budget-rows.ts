import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { isEnabled, type Row } from '../../database/tables.ts';
import { knownNodes, type RangeOptions } from '../../objects/cluster.ts';

export const budgetTable = 'powerbudget';
/** What the nodes had before they were capped. */
export const capTable = 'powercap';

export interface Budget {
  readonly name: string;
  readonly range: string;
  readonly watts: number;
}

/** More nodes than a room has. */
export const mostNodes = 2_000;
const mostWatts = 100_000_000;

export function checkWatts(watts: number): void {
  if (!(Number.isInteger(watts) && watts >= 1 && watts <= mostWatts))
    throw new Fault('invalid', `A power budget is a whole number of watts from 1 to ${mostWatts}, not ${watts}.`);
}

export function budgetIn(snapshot: Snapshot, name: string): Budget {
  const row = snapshot.get(budgetTable, name);
  if (!row) throw new Fault('unknown-object', `There is no power budget "${name}"; GET /powerbudgets lists them.`);
  return budgetOf(row);
}

const budgetOf = (row: Row): Budget => ({
  name: row['name'] ?? '',
  range: row['noderange'] ?? '',
  watts: Number(row['watts']),
});

export const budgetsIn = (snapshot: Snapshot): readonly Budget[] =>
  [...snapshot.rows(budgetTable).values()].filter(isEnabled).map(budgetOf);

export function nodesOfBudget(snapshot: Snapshot, range: string, ranges: RangeOptions): readonly string[] {
  const nodes = knownNodes(snapshot, range, ranges);
  if (nodes.length === 0) throw new Fault('invalid', `The noderange "${range}" of a power budget has no nodes.`);
  if (nodes.length > mostNodes)
    throw new Fault('invalid', `A power budget is for at most ${mostNodes} nodes; "${range}" has ${nodes.length}.`);
  return nodes;
}
