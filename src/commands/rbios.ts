import { Type } from 'typebox';
import type { NodeValue } from '../core/results.ts';
import { Fault } from '../core/errors.ts';
import { type Bios, type BiosState, biosTimes } from '../drivers/index.ts';
import { hidden, shownName, withoutSecrets } from '../objects/secret-names.ts';
import { textMap } from './command.ts';
import { hardwareOnWorkers, onHardware, perNode, type Task } from './per-node.ts';

const args = {
  action: Type.Enum(['get', 'set', 'reset']),
  names: Type.Optional(Type.Array(Type.String(), { description: 'of the settings to read; absent: all' })),
  details: Type.Optional(Type.Boolean({ description: 'also what each setting takes' })),
  set: Type.Optional(textMap),
  when: Type.Optional(Type.Enum(biosTimes)),
};

interface Wanted {
  readonly action: 'get' | 'set' | 'reset';
  readonly names?: readonly string[] | undefined;
  readonly details?: boolean | undefined;
  readonly set?: Readonly<Record<string, string>> | undefined;
  readonly when?: (typeof biosTimes)[number] | undefined;
}

export const mostSettings = 2_000;

/** Settings of the BIOS: rules can tell reading them from changing them by the first word of the line. */
export const rbios = perNode({
  ...onHardware('rbios', 'bios', args, carryOut, check),
  onWorkers: hardwareOnWorkers([], (node) => `Look with GET /nodes/${node}/bios before you send it again.`),
  line: ({ action, names = [], details, set = {}, when }) => [
    action,
    ...names.map(withoutSecrets),
    ...Object.entries(set).map(([name, value]) => shownSetting(name, value)),
    ...(details ? ['--allowed'] : []),
    ...(when === 'now' ? ['--now'] : []),
  ],
  outlivesClient: ({ action }) => action !== 'get',
});

/** What a mistyped name of a password would give away is hidden too. */
const mayBeSecret = /pass|pwd|secret|token|pin$/i;

const shownSetting = (name: string, value: string): string =>
  mayBeSecret.test(name) ? `${shownName(name)}=${hidden}` : withoutSecrets(`${shownName(name)}=${value}`);

function check({ action, set = {}, names = [] }: Wanted): void {
  const count = Object.keys(set).length;
  if (action === 'set' && count === 0) throw new Fault('invalid', 'Give the settings with their values.');
  if (Math.max(count, names.length) > mostSettings)
    throw new Fault('invalid', `Give at most ${mostSettings} settings at a time.`);
}

async function carryOut(
  bios: Bios,
  { action, names, details, set = {}, when = 'restart' }: Wanted,
  { signal }: Task,
): Promise<NodeValue> {
  if (action === 'reset') return { notes: [await bios.reset(signal)] };
  return report(await (action === 'set' ? bios.set(set, when, signal) : bios.read({ names, details }, signal)));
}

const report = ({ current, pending, notes, allowed, own }: BiosState): NodeValue => ({
  current,
  pending,
  ...(notes.length > 0 ? { notes } : {}),
  ...(allowed ? { allowed, own: own ?? [] } : {}),
});
