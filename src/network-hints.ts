import { setImmediate as pause } from 'node:timers/promises';
import type { Context } from './context.ts';
import { EnclosingNetworks } from './core/enclosing-networks.ts';
import { parseIp, prefixText } from './core/ip.ts';
import type { Snapshot } from './database/snapshot.ts';
import { effectiveReader } from './objects/effective.ts';
import { networksOf } from './objects/networks.ts';
import { nodeAttribute } from './objects/node-attributes.ts';

const mostNetworks = 4;
/** Nodes that are looked at before others get their turn. */
const perTurn = 200;

/** Says which settings leave it open where secrets and commands go, and what they would have to be for the nodes there are. */
export async function hintNetworks({ config, store, log }: Pick<Context, 'config' | 'store' | 'log'>): Promise<void> {
  const hint = async (setting: string, attribute: string, what: string): Promise<void> => {
    const offer = await offerFor(store.current, setting, attribute);
    const open = `${setting} is not set: ${what} is sent to whatever address the attribute ${attribute} of a node gives.`;
    log[offer === '' ? 'info' : 'warn'](`${open}${offer}`);
  };
  if (!config.hardware.networks) await hint('hardware.networks', 'bmc', 'the account of a service processor');
  if (!config.remote.networks) await hint('remote.networks', 'ip', 'what is meant for a node');
}

/** The setting for all nodes that there are, as a line of the configuration file. */
async function offerFor(snapshot: Snapshot, setting: string, attribute: string): Promise<string> {
  const reader = effectiveReader(snapshot);
  const networks = new EnclosingNetworks(networksOf(snapshot).map(({ prefix }) => prefix));
  let named = 0;
  for (const [i, node] of snapshot.rows('nodelist').keys().entries()) {
    if (i % perTurn === 0) await pause();
    const [value = ''] = (nodeAttribute(reader, node, attribute) ?? '').split(',', 1);
    const ip = parseIp(value);
    if (ip) networks.add(ip);
    else if (value !== '') named++;
  }
  const few = networks.atMost(mostNetworks);
  const names = named === 0 ? '' : ` ${named} nodes have a name there, whose networks are not known here.`;
  if (!few) return ` The nodes are in more than ${mostNetworks} networks.${names}`;
  if (few.length === 0) return names;
  const list = few.map((prefix) => `"${prefixText(prefix)}"`).join(', ');
  return `${names} For the nodes that are defined: ${setting} = [${list}]`;
}
