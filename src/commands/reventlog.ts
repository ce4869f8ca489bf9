import { Type } from 'typebox';
import type { NodeValue } from '../core/results.ts';
import { onHardware, perNode } from './per-node.ts';

export const reventlog = perNode({
  ...onHardware(
    'reventlog',
    'eventLog',
    { clear: Type.Boolean() },
    async (log, { clear }, { signal }): Promise<NodeValue> => {
      if (!clear) return { eventlog: await log.read(signal) };
      await log.clear(signal);
      return {};
    },
  ),
  line: ({ clear }) => [clear ? 'clear' : 'all'],
  outlivesClient: ({ clear }) => clear,
});
