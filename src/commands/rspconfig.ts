import { Type } from 'typebox';
import { isIP } from 'node:net';
import { Fault } from '../core/errors.ts';
import type { NodeValue } from '../core/results.ts';
import { type Labelled, MovedFault, type ServiceProcessor } from '../drivers/index.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { shownSettings } from '../objects/shown-arguments.ts';
import { selectNodes, textMap } from './command.ts';
import { hardwareOnWorkers, onHardware, perNode, type Task } from './per-node.ts';

const args = {
  attribute: Type.String({ description: 'what to read, unless there is something to set' }),
  set: Type.Optional(textMap),
};

type Settings = Readonly<Record<string, string>>;

const newAddress = ({ ip }: Settings): string | undefined => (ip === 'dhcp' ? undefined : ip);

export const rspconfig = perNode({
  ...onHardware(
    'rspconfig',
    'serviceProcessor',
    args,
    async (processor, { attribute, set }, task): Promise<NodeValue> => {
      if (!set) return processor.get(attribute, task.signal);
      const address = newAddress(set);
      // What is no address the driver refuses.
      if (address !== undefined && isIP(address) !== 0) return move(processor, set, address, task);
      return (await processor.set(set, task.signal)) ?? {};
    },
  ),
  onWorkers: {
    ...hardwareOnWorkers(['moved'], (node) => `Look with GET /nodes/${node}/sp/ip before you send it again.`),
    mayReport: (effect, { set = {} }) => effect.kind !== 'moved' || effect.to === newAddress(set),
  },
  line: ({ attribute, set }) => (set ? shownSettings(set) : [withoutSecrets(attribute)]),
  outlivesClient: ({ set }) => set !== undefined,
  actsOn({ set = {} }) {
    const address = newAddress(set);
    return address === undefined ? [] : [{ kind: 'address', address }];
  },
  select(snapshot, given, services) {
    const selection = selectNodes(snapshot, given, services);
    const address = newAddress(given.set ?? {});
    if (address !== undefined && selection.nodes!.length > 1) {
      const count = selection.nodes!.length;
      throw new Fault('invalid', `${address} cannot be the address of ${count} BMCs; name one node.`);
    }
    return selection;
  },
});

/** The node's attribute follows its BMC, and the result says so. */
async function move(processor: ServiceProcessor, set: Settings, address: string, task: Task): Promise<NodeValue> {
  const { signal } = task;
  const before = (await processor.get('ip', signal))['BMC IP'];
  const moves = typeof before === 'string' && before !== address;
  let said: Labelled | void;
  try {
    said = await processor.set(set, signal);
  } catch (error) {
    if (moves && error instanceof MovedFault) task.report({ kind: 'moved', from: before, to: address });
    throw error;
  }
  // Hardware that moves later says where it is now.
  const now = said?.['BMC IP'] ?? address;
  if (!moves || now !== address) return said ?? {};
  task.report({ kind: 'moved', from: before, to: address });
  return { ...said, 'BMC IP': address };
}
