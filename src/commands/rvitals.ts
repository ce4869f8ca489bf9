import { Type } from 'typebox';
import { kindsIn, vitalsKinds } from '../drivers/capabilities.ts';
import { onHardware, perNode } from './per-node.ts';

const args = { kinds: Type.Array(Type.String(), { description: 'none, or all: everything' }) };

const kindsOf = (kinds: readonly string[]) => kindsIn('vitals', vitalsKinds, kinds);

export const rvitals = perNode({
  ...onHardware(
    'rvitals',
    'vitals',
    args,
    (vitals, { kinds }, { signal }) => vitals.read(kindsOf(kinds), signal),
    ({ kinds }) => void kindsOf(kinds),
  ),
  line: ({ kinds }) => (kinds.length === 0 ? ['all'] : kinds),
});
