import { Fault } from '../core/errors.ts';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import { beyondJournal, without } from '../database/past.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import { type Row, rowsOfNodePrefix, tableNamed } from '../database/tables.ts';
import type { RangeOptions } from './cluster.ts';
import { nodeRowTables } from './define.ts';
import type { Resolved } from './definition-set.ts';
import { rowOf } from './definitions.ts';
import { staticMembers } from './groups.ts';

type Sees = RangeOptions['sees'];

/** What a moment may be, for descriptions. */
export const momentForms = 'a revision, such as 1234, or a time with its zone, such as 2026-11-15T09:05:00Z';

/** A time, in milliseconds. The plus of a zone is a blank in a query that was not encoded. */
function timeOf(text: string): number | undefined {
  const match = /^(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|z|[+ -]\d\d:?\d\d)$/.exec(text);
  if (!match) return undefined;
  const zone = match[2]!.replace(' ', '+').toUpperCase();
  const time = Date.parse(
    match[1]!.toUpperCase() + (zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone),
  );
  return Number.isNaN(time) ? undefined : time;
}

/** The revision that was the latest at a moment: itself, or that of a time. */
export async function revisionOf(store: Store, current: Snapshot, name: string, text: string): Promise<number> {
  if (/^\d{1,15}$/.test(text)) {
    const revision = Number(text);
    if (revision <= current.revision) return revision;
    throw new Fault(
      'unknown-object',
      `${name}: there is no revision ${revision} yet; the newest is ${current.revision}.`,
    );
  }
  const time = timeOf(text);
  if (time === undefined)
    throw new Fault('malformed', `${name}: give ${momentForms}; times without a zone are not understood.`);
  if (time >= Date.now()) return current.revision;
  const found = await store.database.revisionAt(time);
  if (found === undefined) throw beyondJournal(new Date(time).toISOString(), await store.database.oldestEntry());
  return Math.min(found, current.revision);
}

/** The state that a caller saw, by its revision; undefined: none was given. */
export async function stateSeen(store: Store, since: number | undefined): Promise<Snapshot | undefined> {
  if (since === undefined) return undefined;
  const { current } = store;
  const revision = await revisionOf(store, current, 'since', String(since));
  return revision === current.revision ? current : store.past.at(current, revision);
}

/** The rows of an object by their tables, without what becomes known by itself; of the site those of the named attributes. */
function rowsOfObject(snapshot: Snapshot, { type, attributes }: Resolved, name: string, sees: Sees): string {
  const rows: (readonly [table: string, Row | undefined])[] = [];
  // Who is in a group stands at the nodes.
  const isMembers = type.name === 'group' && Object.hasOwn(attributes, 'members');
  const members = isMembers ? staticMembers(snapshot, name).filter((node) => !sees || sees(node)) : [];
  if (type.name === 'site')
    for (const attribute of Object.keys(attributes)) rows.push(['site', snapshot.get('site', attribute)]);
  else if (type.name === 'node' || type.name === 'group') {
    if (type.name === 'group') rows.push(['nodegroup', snapshot.get('nodegroup', name)]);
    for (const { name: table, keys } of nodeRowTables) {
      if (keys.length === 1) rows.push([table, snapshot.get(table, name)]);
      else for (const row of snapshot.rows(table).startingWith(rowsOfNodePrefix(name))) rows.push([table, row]);
    }
  } else for (const table of type.tables) rows.push([table, rowOf(snapshot, type, { table, column: '' }, name)]);
  return JSON.stringify([members, rows.map(([table, row]) => [table, row && lastingColumns(table, row)])]);
}

const lastingColumns = (table: string, row: Row): [string, string][] =>
  Object.entries(without(row, tableNamed(table).volatile)).sort(([a], [b]) => (a < b ? -1 : 1));

const mostNamed = 10;

/** Refuses to write over what others have changed since the caller looked: all of it is named, and nothing is done. */
export function* refuseChanged(
  then: Snapshot,
  now: Snapshot,
  set: readonly Resolved[],
  sees: Sees,
): Interruptible<void> {
  if (then.revision === now.revision) return;
  const changed: string[] = [];
  for (const each of set)
    yield* eachInSlices([...each.existing, ...each.missing], (name) => {
      if (rowsOfObject(then, each, name, sees) !== rowsOfObject(now, each, name, sees))
        changed.push(`${each.type.name} ${name}`);
    });
  if (changed.length === 0) return;
  const more = changed.length > mostNamed ? ` and ${changed.length - mostNamed} more` : '';
  const [verb, object] = changed.length === 1 ? ['was', 'it'] : ['were', 'them'];
  throw new Fault(
    'precondition',
    `${changed.slice(0, mostNamed).join(', ')}${more} ${verb} changed since revision ${then.revision}, and nothing was done. Read ${object} again; GET /changes?since=${then.revision + 1} shows who changed what.`,
  );
}
