import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { inSlices, type Interruptible } from '../core/slices.ts';
import type { JournalEntry } from '../database/database.ts';
import { ownersNamed } from '../objects/groups.ts';
import { JournalView, madeIn } from '../objects/history.ts';
import { conflictFault, entryNumber, type LaterChange, laterChanges, Reversal } from '../objects/reversal.ts';
import { ownerOf } from '../objects/shown-arguments.ts';
import { concernsNodes } from '../objects/table-access.ts';
import { type Answer, change, type Question, type Selection } from './command.ts';

/** What the journal has. */
interface Found {
  readonly reversal: Reversal | undefined;
  /** What stands in the way, if anything. */
  readonly later: readonly LaterChange[];
  /** Nodes that were made since. */
  readonly made: readonly string[];
}

const nothingFound: Found = { reversal: undefined, later: [], made: [] };
const foundIn = ({ found }: { readonly found?: unknown }): Found => (found ?? nothingFound) as Found;

/** Takes back one change, by a change of its own. */
export const revert = change({
  name: 'revert',
  args: Type.Object({
    id: Type.String({ description: 'the number of the change to take back' }),
    found: Type.Optional(Type.Unknown({ description: 'what the journal holds of it; found out by prepare' })),
  }),
  uses: ['store'],
  line: ({ id }) => [id],
  reverts: ({ id }) => entryNumber(id),
  async prepare(args, { store }, isLimited) {
    const revision = entryNumber(args.id);
    const { current, database } = store;
    let entry: JournalEntry | undefined;
    for await (const [found] of database.readJournal({ after: revision - 1, until: revision })) entry = found;
    if (!entry) return args;
    const reversal = new Reversal(entry);
    const conflicts = await inSlices(reversal.conflicts(current));
    const later = conflicts.length > 0 ? await laterChanges(store, entry, conflicts) : [];
    const made = new Set<string>();
    // Only those who do not see everything need to know.
    if (isLimited) {
      for await (const page of database.readJournal({ after: revision, until: current.revision })) {
        for (const { changes } of page) for (const name of madeIn(changes)) made.add(name);
      }
    }
    return { ...args, found: { reversal, later, made: [...made] } satisfies Found };
  },
  *select(snapshot, args, _services, permits, user): Interruptible<Selection> {
    const { id } = args;
    const { reversal, made } = foundIn(args);
    const unknown = new Fault('unknown-object', `There is no change ${id} that you may see; GET /changes lists them.`);
    if (!reversal) throw unknown;
    const view = new JournalView(snapshot, user, permits, made);
    let seen = 0;
    for (const [i, row] of reversal.rows.entries()) {
      if (view.sees(reversal.entry, row)) seen++;
      if (i % 100 === 99) yield;
    }
    if (seen === 0 && reversal.rows.length > 0) throw unknown;
    if (seen < reversal.rows.length)
      throw new Fault(
        'denied',
        `Change ${id} is also about what you may not see; ask somebody who may to take it back.`,
      );
    const objects = reversal.owners();
    const nodes = objects.flatMap((name) => ownersNamed(snapshot, name));
    return { objects, nodes: nodes.length > 0 ? [...new Set(nodes)].sort() : undefined };
  },
  *questions(snapshot, args): Interruptible<readonly Question[]> {
    const { id } = args;
    const { reversal } = foundIn(args);
    if (!reversal) return [{ words: [id], nodes: undefined }];
    const words = [id, ...(yield* reversal.words())];
    yield;
    const nodes = [...new Set(reversal.owners().flatMap((name) => ownersNamed(snapshot, name)))].sort();
    const others = reversal.rows.flatMap(([table, [key]]) => (ownerOf(table, key) === undefined ? table : []));
    return [
      ...(nodes.length > 0 ? [{ words, nodes }] : []),
      ...(others.length > 0 || nodes.length === 0
        ? [{ words, nodes: undefined, every: others.some(concernsNodes) }]
        : []),
    ];
  },
  *plan(draft, args): Interruptible<Answer> {
    const { id } = args;
    const { reversal, later } = foundIn(args);
    if (!reversal || reversal.rows.length === 0)
      throw new Fault(
        'invalid',
        `Change ${id} only made or revoked tokens, which cannot be taken back; DELETE /tokens revokes them.`,
      );
    const conflicts = yield* reversal.conflicts(draft.base);
    if (conflicts.length > 0) throw conflictFault(reversal.entry, conflicts, later);
    yield* reversal.apply(draft);
    const orphans = reversal.orphans(draft);
    const notes =
      orphans.length > 0
        ? { notes: [`The rows of ${orphans.join(', ')} are back, but there is no such node or group.`] }
        : {};
    return {
      shape: 'value',
      value: { id: draft.base.revision + 1, reverts: reversal.entry.revision, rows: reversal.rows.length },
      ...notes,
    };
  },
});
