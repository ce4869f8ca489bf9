import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { inSlices, type Interruptible } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { tableNamed } from '../database/tables.ts';
import { mostUnknownNames } from '../objects/cluster.ts';
import { listItems } from '../core/list-items.ts';
import { differences, entryShown, JournalView, listEntries, unknownEntry } from '../objects/history.ts';
import { revisionOf } from '../objects/moments.ts';
import { namedObjects } from '../objects/select.ts';
import { type ChangedRow, ownerOf, shownRange, shownRow } from '../objects/shown-arguments.ts';
import { nodeType } from '../objects/types.ts';
import {
  type Answer,
  type Arguments,
  noSelection,
  query,
  type Question,
  type Scope,
  type Selection,
} from './command.ts';

const one = Type.Object({ id: Type.String({ description: 'the number of a change' }) });
const many = Type.Object({
  range: Type.Optional(Type.String({ description: 'changes of these nodes' })),
  tables: Type.Optional(Type.Array(Type.String(), { description: 'changes in these tables' })),
  user: Type.Optional(Type.String()),
  mine: Type.Optional(Type.Boolean({ description: "only the caller's own" })),
  command: Type.Optional(Type.String()),
  since: Type.Optional(Type.String({ description: 'a revision or a time' })),
  until: Type.Optional(Type.String({ description: 'a revision or a time' })),
  limit: Type.Optional(Type.String({ description: 'how many at most' })),
});

const between = Type.Object({
  from: Type.String({ description: 'a revision or a time' }),
  to: Type.Optional(Type.String({ description: 'a revision or a time; now, if absent' })),
  range: Type.Optional(Type.String()),
  tables: Type.Optional(Type.Array(Type.String())),
});

const usualLimit = 100;
const highestLimit = 1_000;

/** What was changed, by whom, when and from where. */
export const lschanges = query({
  name: 'lschanges',
  args: Type.Union([one, between, many]),
  uses: ['store'],
  line(args) {
    if ('id' in args) return [args.id];
    const { range, tables } = args;
    const { user, mine, command } = 'from' in args ? {} : args;
    const named = (flag: string, value: string | undefined): string[] => (value === undefined ? [] : [flag, value]);
    return [
      ...named('-n', range && shownRange(range)),
      ...named('-t', tables?.join(',')),
      ...named('-u', user),
      ...(mine ? ['--mine'] : []),
      ...named('-c', command),
      ...('from' in args ? ['-d', args.from, ...(args.to === undefined ? [] : [args.to])] : []),
    ];
  },
  select(snapshot, args, { ranges }): Selection {
    if ('id' in args || args.range === undefined) return noSelection;
    // Also of nodes that are no longer there.
    const { existing, missing } = namedObjects(snapshot, nodeType, args.range, ranges, mostUnknownNames);
    return { objects: existing, missing, nodes: [...existing, ...missing].sort() };
  },
  /** Without a range the policy is asked about each row that would be shown. */
  questions(_snapshot, args) {
    return 'id' in args || args.range === undefined ? noQuestions() : undefined;
  },
  async run(snapshot, args, scope): Promise<Answer> {
    const view = new JournalView(snapshot, scope.caller.user, scope.permits);
    if ('from' in args) return difference(snapshot, args, scope, view);
    if (!('id' in args)) return listed(snapshot, args, scope, view);
    const id = /^\d{1,15}$/.test(args.id) ? Number(args.id) : undefined;
    if (id === undefined) throw new Fault('malformed', `"${args.id}" is not the number of a change.`);
    if (id === 0 || id > snapshot.revision) throw await unknownEntry(scope.store, id);
    const { entry, rows } = await entryShown(scope.store, snapshot, id, view);
    return {
      shape: 'items',
      before: { ...entry, rows: rows.length },
      member: 'changes',
      items: rows.values().map(shownRow),
    };
  },
});

function* noQuestions(): Interruptible<readonly Question[]> {
  yield;
  return [];
}

async function listed(
  snapshot: Snapshot,
  { range, tables, user, mine, command, since, until, limit }: Arguments<typeof many>,
  { store, selection, signal, caller }: Scope<'store'>,
  view: JournalView,
): Promise<Answer> {
  const most = limit === undefined ? usualLimit : Number(limit);
  if (!/^\d{1,4}$/.test(limit ?? '1') || most < 1 || most > highestLimit)
    throw new Fault('malformed', `limit: give a number from 1 to ${highestLimit}.`);
  const wanted = {
    after: since === undefined ? 0 : await firstOf(store, snapshot, since),
    until: until === undefined ? snapshot.revision : await revisionOf(store, snapshot, 'until', until),
    user: mine ? caller.user : user,
    command,
    ...rowsWanted(range, tables, selection),
  };
  const { entries, next } = await listEntries(store, snapshot, wanted, view, most, signal());
  const oldest = await store.database.oldestEntry();
  const reach = oldest && { id: oldest.revision, time: new Date(oldest.time).toISOString() };
  return { shape: 'items', member: 'changes', items: entries, after: { next, oldest: reach } };
}

const rowsWanted = (range: string | undefined, tables: readonly string[] | undefined, { nodes = [] }: Selection) => ({
  owners: range === undefined ? undefined : new Set([...nodes, ...listItems(range)]),
  tables: tables && new Set(tables.map(tableNamed)),
});

async function difference(
  snapshot: Snapshot,
  { from, to, range, tables }: Arguments<typeof between>,
  { store, selection, permitsIn }: Scope<'store'>,
  view: JournalView,
): Promise<Answer> {
  const ends = [
    await revisionOf(store, snapshot, 'from', from),
    to === undefined ? snapshot.revision : await revisionOf(store, snapshot, 'to', to),
  ] as const;
  // The older one is the farther to go; the newer one lies on the way.
  const states = new Map<number, Snapshot>();
  for (const revision of [...ends].sort((a, b) => b - a)) states.set(revision, await store.past.at(snapshot, revision));
  const [before, after] = [states.get(ends[0])!, states.get(ends[1])!];
  const permits = [before, after].map((state) => ({ state, permits: permitsIn(state) }));
  const sees = (row: ChangedRow): boolean => {
    if (!view.sees(nobody, row)) return false;
    const owner = ownerOf(row[0], row[1][0]);
    if (view.seesAll || owner === undefined) return true;
    return permits.every((each) => !each.state.get('nodelist', owner) || each.permits({ nodes: [owner] }));
  };
  const rows = await inSlices(differences(before, after, rowsWanted(range, tables, selection), sees));
  const head = { from: ends[0], to: ends[1], rows: rows.length };
  return { shape: 'items', before: head, member: 'changes', items: rows.values().map(shownRow) };
}

/** Whose change a difference is, is not known. */
const nobody = { user: '' };

/** What comes before the first that is wanted. A journal that does not go back that far has only later ones. */
async function firstOf(store: Scope<'store'>['store'], snapshot: Snapshot, since: string): Promise<number> {
  if (/^\d{1,15}$/.test(since)) return Math.max(0, Number(since) - 1);
  try {
    return await revisionOf(store, snapshot, 'since', since);
  } catch (error) {
    if (error instanceof Fault && error.kind === 'unknown-object') return 0;
    throw error;
  }
}
