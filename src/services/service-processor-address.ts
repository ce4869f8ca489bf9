import { isIP } from 'node:net';
import type { Origin } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import { assign } from '../objects/assign.ts';
import { effectiveReader } from '../objects/effective.ts';
import { explainAttribute } from '../objects/explain.ts';
import { nodeType } from '../objects/types.ts';

/**
 * A node's service processor has moved. If its attribute bmc was the old address, it becomes the new one, as the node's own value even
 * if it was inherited; a name or another address is left to whoever keeps it. Resolves with a sentence that says which.
 */
export async function followMove(
  store: Store,
  origin: Origin,
  node: string,
  from: string,
  to: string,
): Promise<string> {
  let sentence = '';
  await store.change(origin, (head) => {
    const draft = new Draft(head);
    const { follows, because } = judge(head, node, from, to);
    if (follows) assign(draft, { type: nodeType, name: node, attributes: { bmc: to }, mode: 'set', fresh: false });
    sentence = `Its service processor has moved from ${from} to ${to}; ${because}`;
    return draft.changes();
  });
  return sentence;
}

function judge(head: Snapshot, node: string, from: string, to: string): { follows: boolean; because: string } {
  const reader = effectiveReader(head);
  if (!reader.nodeRow(node)) return { follows: false, because: 'the node has been removed meanwhile.' };
  const { value, source, row, stored } = explainAttribute(reader, node, 'bmc');
  const left = (because: string) => ({ follows: false, because: `its attribute bmc ${because}` });
  if (value === to) return left(`is ${to} already.`);
  if (isIP(value ?? '') === 0) return left(`is "${value}" and was left as it is: make sure that it leads to ${to}.`);
  if (value !== from) return left(`is ${value}, another address than the one that moved, and was left as it is.`);
  const instead =
    source === 'group'
      ? ` as its own value, instead of that of the group ${row}`
      : stored === value
        ? ''
        : ` instead of ${stored}`;
  return { follows: true, because: `its attribute bmc is ${to} now${instead}.` };
}
