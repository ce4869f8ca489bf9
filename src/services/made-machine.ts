import type { Origin } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Store } from '../database/store.ts';
import { keyOf, tableNamed } from '../database/tables.ts';
import { assign } from '../objects/assign.ts';
import { effectiveReader } from '../objects/effective.ts';
import { nodeType } from '../objects/types.ts';

export interface MadeMachine {
  readonly uuid: string;
  readonly mac?: string | undefined;
  /** The master that it was made from. */
  readonly master?: string | undefined;
}

/** Keeps who a new virtual machine is with its node, so that it is the same one when it is made again. */
export async function keepIdentity(store: Store, origin: Origin, node: string, made: MadeMachine): Promise<void> {
  const table = tableNamed('vpd');
  await store.change(origin, (head) => {
    const draft = new Draft(head);
    const reader = effectiveReader(head);
    if (!reader.nodeRow(node)) return draft.changes();
    const known = reader.row(table, node)?.['uuid'];
    if (known?.toLowerCase() !== made.uuid) draft.merge('vpd', keyOf(table, { node }), { node, uuid: made.uuid });
    const attributes = {
      ...(made.mac === undefined ? {} : { mac: made.mac }),
      ...(made.master === undefined ? {} : { vmmaster: made.master }),
    };
    assign(draft, { type: nodeType, name: node, attributes, mode: 'set', fresh: false });
    return draft.changes();
  });
}
