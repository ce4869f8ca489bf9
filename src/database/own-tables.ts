/** The tables are data, so their types are not known to the compiler. */
export type AnyDatabase = Record<string, Record<string, unknown>>;

export const journalTable = 'muster_journal';
export const metaTable = 'muster_meta';
/**
 * The latest change sets in their order: the revision of those in the journal, the changes of the others. `total` counts what they and all
 * before them take here, so that it is known how many are enough.
 */
export const sequenceTable = 'muster_sequence';
/** The audit log, in blocks: every read is recorded, and handing each value to the database would cost the most. The view `auditlog` shows rows. */
export const auditTable = 'muster_audit';

/** A row's position in the order in which the rows of its table were stored; rows of before it was kept have none, and come first. */
export const ordinalColumn = 'muster_ordinal';

/** Where rows stood that are gone, for as long as the journal may bring them back. */
export const removedTable = 'muster_removed';

/** What servers share besides the tables, for a time; see shared-records.ts. */
export const sharedTable = 'muster_shared';

/** More rows than a change set adds: an ordinal is a change set's sequence times this, and the position in it. */
export const ordinalsPerSet = 1_000_000;

/** Rows of volatile changes, and change sets of the journal, that whoever follows may be behind. */
export const keptInSequence = 100_000;
