import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { checkWord, onHardware, perNode } from './per-node.ts';

const actions = ['on', 'off', 'blink', 'stat'] as const;
type Action = Exclude<(typeof actions)[number], 'stat'>;

const args = { action: Type.String({ description: 'on, off, blink; stat reads' }) };

export const rbeacon = perNode({
  ...onHardware(
    'rbeacon',
    'beacon',
    args,
    async (beacon, { action }, { signal }) => {
      if (action !== 'stat') {
        await beacon.set(action as Action, signal);
        return { beacon: action };
      }
      if (!beacon.state) throw new Fault('invalid', 'its service processor does not tell the state of its beacon.');
      return { beacon: await beacon.state(signal) };
    },
    ({ action }) => checkWord(action, actions, 'beacon action'),
  ),
  line: ({ action }) => [withoutSecrets(action)],
  outlivesClient: ({ action }) => action !== 'stat',
});
