import { Fault } from '../core/errors.ts';
import type { Origin } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import { isEnabled, keyOf, tableNamed, tables } from '../database/tables.ts';
import { effectiveReader } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';

/** Disks to make virtual machines from, as table vmmaster has them. */
export interface MasterRecord {
  readonly name: string;
  /** The driver whose machines it is for; undefined: it is not known. */
  readonly driver?: string | undefined;
  readonly storage: string;
  readonly storageModel?: string | undefined;
  /** The definition of the machine that it was made from, in the driver's own form. */
  readonly definition?: string | undefined;
}

/** Where definitions are kept, for drivers that have such a table. */
const definitionTable = (driver: string): string => `${driver}_masterdata`;

/** Undefined: there is none. A record that does not name its driver belongs to the one that has its definition. */
export function masterNamed(snapshot: Snapshot, name: string, drivers: readonly string[]): MasterRecord | undefined {
  const row = snapshot.get('vmmaster', name);
  const { storage, virttype, storagemodel: storageModel } = row ?? {};
  if (!row || !isEnabled(row) || storage === undefined) return undefined;
  const definitionOf = (driver: string): string | undefined =>
    tables.has(definitionTable(driver)) ? snapshot.get(definitionTable(driver), name)?.['xml'] : undefined;
  const driver = virttype ?? drivers.find((each) => definitionOf(each) !== undefined);
  return { name, driver, storage, storageModel, definition: driver && definitionOf(driver) };
}

/** All masters: no command touches their disks. */
export const mastersIn = (snapshot: Snapshot): readonly Pick<MasterRecord, 'name'>[] =>
  [...snapshot.rows('vmmaster').keys()].map((name) => ({ name }));

/** The disks of a machine of that name would be called like those of the master. */
export function refuseNameOfMaster(snapshot: Snapshot, node: string): void {
  if (snapshot.get('vmmaster', node))
    throw new Fault(
      'invalid',
      `there is a master ${node}, and its disks have the names that the disks of this node would get. Give the node another name.`,
    );
}

/** Whether the account has made the master. */
export const isOwnMaster = (snapshot: Snapshot, name: string, user: string): boolean =>
  snapshot.get('vmmaster', name)?.['originator'] === user;

/** Keeps what a master is, and what the node is that it was made of. */
export async function keepMaster(
  store: Store,
  origin: Origin,
  node: string,
  { name, driver, storage, storageModel, definition }: MasterRecord & { readonly driver: string },
): Promise<void> {
  await store.change(origin, (head) => {
    const draft = new Draft(head);
    // Somebody else may have been faster, somewhere else.
    if (head.get('vmmaster', name))
      throw new Fault(
        'invalid',
        `There is a master ${name} by now, which stays as it is; the disks that were made are in ${storage}: delete them.`,
      );
    const reader = effectiveReader(head);
    const known = { os: 'os', arch: 'arch', profile: 'profile', nics: 'vmnics' };
    const ofNode = Object.entries(known).flatMap(([column, attribute]) => {
      const value = nodeAttribute(reader, node, attribute);
      return value === undefined ? [] : [[column, value] as const];
    });
    draft.merge('vmmaster', keyOf(tableNamed('vmmaster'), { name }), {
      name,
      ...Object.fromEntries(ofNode),
      storage,
      ...(storageModel === undefined ? {} : { storagemodel: storageModel }),
      vintage: new Date().toISOString(),
      originator: origin.user,
      virttype: driver,
    });
    const table = tables.get(definitionTable(driver));
    if (table && definition !== undefined) draft.merge(table.name, keyOf(table, { name }), { name, xml: definition });
    return draft.changes();
  });
}
