import { Fault } from '../core/errors.ts';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import type { RowChange } from '../database/changeset.ts';
import { hasForm, formProblem } from '../database/checks.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { type Table, tableNamed } from '../database/tables.ts';
import { type EffectiveReader, effectiveReader } from './effective.ts';
import { allMembers } from './groups.ts';
import { objectExists } from './definitions.ts';
import { patternProblem, patternsIn, substitute } from './substitution/index.ts';
import { nodeType } from './types.ts';

/** A pattern that is stored now. */
interface Stored {
  readonly table: Table;
  readonly column: string;
  /** The node or group that it is stored for. */
  readonly owner: string;
  readonly value: string;
}

/** Refuses patterns that cannot be computed, and such that give a node that exists a value that would be refused if it were written. */
export function* checkPatterns(changes: readonly RowChange[], after: () => Snapshot): Interruptible<void> {
  const patterns: Stored[] = [];
  yield* eachInSlices(changes, (change) => addPatterns(patterns, change));
  for (const stored of patterns) {
    checkSyntax(stored);
    if (hasForm(stored.table, stored.column)) yield* checkResults(stored, effectiveReader(after()));
    yield;
  }
}

function addPatterns(patterns: Stored[], { table: name, before, after }: RowChange): void {
  const table = tableNamed(name);
  if (after === undefined || table.nodeColumn === undefined) return;
  for (const column in after) {
    const value = after[column]!;
    if (value === before?.[column] || table.secret.has(column) || patternsIn(name, value).length === 0) continue;
    patterns.push({ table, column, owner: after[table.nodeColumn] ?? '', value });
  }
}

const placeOf = ({ table, column, owner }: Stored): string => `${table.name}.${column} of ${owner}`;

function checkSyntax(stored: Stored): void {
  for (const pattern of patternsIn(stored.table.name, stored.value)) {
    const problem = patternProblem(pattern);
    if (problem !== undefined) throw new Fault('invalid', `${placeOf(stored)}: "${pattern}": ${problem}.`);
  }
}

/** Only nodes that get their value from here count. */
function* checkResults(stored: Stored, reader: EffectiveReader): Interruptible<void> {
  const { table, column, owner, value } = stored;
  const isNode = objectExists(reader.snapshot, nodeType, owner);
  for (const node of isNode ? [owner] : allMembers(reader.snapshot, owner)) {
    if (reader.explain(table, column, node)?.from !== owner) continue;
    const result = substitute(value, node);
    const problem = result === undefined ? undefined : formProblem(table, column, result);
    if (problem !== undefined)
      throw new Fault('invalid', `${placeOf(stored)}: "${value}" is wrong for node ${node}: ${problem}.`);
    yield;
  }
}
