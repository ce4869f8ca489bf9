import { Fault } from '../core/errors.ts';
import type { Origin } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import { isEnabled, keyOf, tableNamed } from '../database/tables.ts';
import { effectiveReader } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';

/** Disks to make virtual machines from, as table vmmaster has them. */
export interface MasterRecord {
  readonly name: string;
  readonly storage: string;
  readonly storageModel?: string | undefined;
  readonly xml?: string | undefined;
}

/** Undefined: there is none, or none of virtual machines on libvirt. */
export function masterNamed(snapshot: Snapshot, name: string): MasterRecord | undefined {
  const row = snapshot.get('vmmaster', name);
  const { storage, virttype, storagemodel } = row ?? {};
  if (!row || !isEnabled(row) || storage === undefined || (virttype ?? 'kvm') !== 'kvm') return undefined;
  return { name, storage, storageModel: storagemodel, xml: snapshot.get('kvm_masterdata', name)?.['xml'] };
}

/** Whether the account has made the master. */
export const isOwnMaster = (snapshot: Snapshot, name: string, user: string): boolean =>
  snapshot.get('vmmaster', name)?.['originator'] === user;

/** Keeps what a master is, and what the node is that it was made of. */
export async function keepMaster(
  store: Store,
  origin: Origin,
  node: string,
  { name, storage, storageModel, xml }: MasterRecord,
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
      virttype: 'kvm',
    });
    if (xml !== undefined) draft.merge('kvm_masterdata', keyOf(tableNamed('kvm_masterdata'), { name }), { name, xml });
    return draft.changes();
  });
}
