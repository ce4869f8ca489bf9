import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { selectNodes } from './command.ts';
import { onHardware, perNode } from './per-node.ts';

const actions = ['on', 'off', 'blink'] as const;
type Action = (typeof actions)[number];

const args = { action: Type.String({ description: 'on, off, blink; stat reads' }) };

export const rbeacon = perNode({
  ...onHardware('rbeacon', 'beacon', args, async (beacon, { action }, { signal }) => {
    if (action !== 'stat') {
      await beacon.set(action as Action, signal);
      return { beacon: action };
    }
    if (!beacon.state) throw new Fault('invalid', 'its service processor does not tell the state of its beacon.');
    return { beacon: await beacon.state(signal) };
  }),
  line: ({ action }) => [withoutSecrets(action)],
  outlivesClient: ({ action }) => action !== 'stat',
  select(snapshot, given, services) {
    if (given.action !== 'stat' && !actions.includes(given.action as Action)) {
      throw new Fault('invalid', `"${given.action}" is not a beacon action; known are ${actions.join(', ')}, stat.`);
    }
    return selectNodes(snapshot, given, services);
  },
});
