import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { Power, PowerAction } from '../drivers/index.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { checkWord, onHardware, perNode } from './per-node.ts';

const actions: readonly PowerAction[] = ['on', 'off', 'softoff', 'reset', 'boot', 'cycle', 'nmi', 'wake', 'suspend'];
const readings: readonly string[] = ['stat', 'state', 'status', 'bmcstate'];
/** For the BMC itself. */
const restart = 'bmcreboot';
const controllerWords: readonly string[] = [restart, 'bmcstate'];
const words: readonly string[] = [...actions, ...readings, restart];

/** What a node is doing once the action was carried out. */
const statusAfter: Readonly<Partial<Record<PowerAction, string>>> = {
  on: 'powering-on',
  boot: 'powering-on',
  reset: 'powering-on',
  cycle: 'powering-on',
  off: 'powering-off',
  softoff: 'powering-off',
};

/** Results are kept for a day; nodes in a usual state share what says so. */
const usualValues = new Map(['on', 'off'].map((power) => [power, { power }]));

export const rpower = perNode({
  ...onHardware(
    'rpower',
    'power',
    { action: Type.String() },
    async (power, { action }, task) => {
      let before: string | undefined;
      const state = await carryOut(power, action, task.signal, (seen) => (before = seen));
      if (!controllerWords.includes(action)) task.report({ kind: 'power', power: state });
      const status = statusAfter[action as PowerAction];
      // A reset of a node that is off did nothing, nor did what was there already.
      const idle =
        (status === 'powering-on' && state === 'off') ||
        (before === state && (action === 'on' || status === 'powering-off'));
      if (status && !idle) task.report({ kind: 'status', status });
      // What these did, the state at the end does not show.
      if (before !== undefined && (action === 'boot' || action === 'softoff')) return { power: state, before };
      return usualValues.get(state) ?? { power: state };
    },
    ({ action }) => checkWord(action, words, 'power action'),
    ({ action }) => readings.includes(action),
  ),
  line: ({ action }) => [withoutSecrets(action)],
  outlivesClient: ({ action }) => !readings.includes(action),
});

function carryOut(power: Power, action: string, signal: AbortSignal, from: (state: string) => void): Promise<string> {
  if (controllerWords.includes(action)) {
    const { controller } = power;
    if (!controller) throw new Fault('invalid', `${action} is not possible with its kind of hardware.`);
    return action === restart ? controller.restart(signal) : controller.state(signal);
  }
  return readings.includes(action) ? power.state(signal) : power.set(action as PowerAction, signal, from);
}
