import { isIP } from 'node:net';
import { Fault } from '../core/errors.ts';
import type { Labelled, ServiceProcessor } from '../drivers/capabilities.ts';
import { MovedFault } from '../drivers/moved.ts';
import { followMove } from '../services/service-processor-address.ts';
import { type NodeValue, perNode, type Scope, selectNodes } from './command.ts';

export interface RspconfigArgs {
  readonly range: string;
  /** The attribute to read, unless there is something to set. */
  readonly attribute: string;
  readonly set?: Settings;
  readonly refuseEmpty?: boolean;
}

type Settings = Readonly<Record<string, string>>;

const newAddress = ({ ip }: Settings): string | undefined => (ip === 'dhcp' ? undefined : ip);

export const rspconfig = perNode<RspconfigArgs>({
  name: 'rspconfig',
  outlivesClient: ({ set }) => set !== undefined,
  select(snapshot, args, services) {
    const selection = selectNodes(snapshot, args, services);
    const address = newAddress(args.set ?? {});
    if (address !== undefined && selection.nodes!.length > 1) {
      const count = selection.nodes!.length;
      throw new Fault('invalid', `${address} cannot be the address of ${count} service processors; name one node.`);
    }
    return selection;
  },
  run(snapshot, { attribute, set }, scope, signal) {
    const { hardware, selection, caller } = scope;
    return hardware.each(
      snapshot,
      selection.nodes ?? [],
      {
        command: 'rspconfig',
        needs: 'serviceProcessor',
        user: caller.user,
        async run(processor, node, aborted): Promise<NodeValue> {
          if (!set) return processor.get(attribute, aborted);
          const address = newAddress(set);
          // What is no address the driver refuses.
          if (address !== undefined && isIP(address) !== 0) return move(scope, processor, node, set, address, aborted);
          return (await processor.set(set, aborted)) ?? {};
        },
      },
      signal,
    );
  },
});

/** The node's attribute follows its service processor, and the result says so. */
async function move(
  scope: Scope,
  processor: ServiceProcessor,
  node: string,
  set: Settings,
  address: string,
  signal: AbortSignal,
): Promise<NodeValue> {
  // The account is shown at the new address, to see whether the service processor is there.
  await scope.hardware.admit(address);
  const before = (await processor.get('ip', signal))['BMC IP'];
  const follow = async (): Promise<string | undefined> =>
    typeof before !== 'string' || before === address ? undefined : followed(scope, node, before, address);
  let said: Labelled | void;
  try {
    said = await processor.set(set, signal);
  } catch (error) {
    if (!(error instanceof MovedFault)) throw error;
    throw new Fault(error.kind, [...error.sentences, (await follow()) ?? []].flat(), { cause: error });
  }
  const sentence = await follow();
  if (sentence === undefined) return said ?? {};
  const messages = [said?.['Message'] ?? []].flat();
  return { ...said, 'BMC IP': address, Message: [...messages, sentence] };
}

async function followed({ store, caller, run }: Scope, node: string, before: string, address: string): Promise<string> {
  const { user, client } = caller;
  try {
    return await followMove(store, { user, client, command: 'rspconfig', run }, node, before, address);
  } catch (error) {
    throw new Fault(
      'unavailable',
      `its service processor has moved to ${address}, but its attribute bmc could not be changed: set it to that.`,
      { cause: error },
    );
  }
}
