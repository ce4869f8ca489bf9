import { contains, parseIp, type Prefix } from '../../core/ip.ts';
import { Fault } from '../../core/errors.ts';
import { atOnce } from '../../core/slices.ts';
import type { Draft } from '../../database/draft.ts';
import { tableNamed } from '../../database/tables.ts';
import { assign } from '../../objects/assign.ts';
import { addressClaim, claimsOfSite } from '../../objects/claims.ts';
import { type EffectiveReader, effectiveReader } from '../../objects/effective.ts';
import { nodeAttribute } from '../../objects/node-attributes.ts';
import { nodeType } from '../../objects/types.ts';
import type { ReadinessByImage } from '../readiness.ts';
import { parseBootStates, planBootStates, statesOnDiscovery } from '../states.ts';
import { identityOf } from './match.ts';
import type { Machine } from './machine.ts';

export interface Adoption {
  readonly node: string;
  /** By which facts, or `order`. */
  readonly by: readonly string[];
  readonly machine: Machine;
  /** Where BMCs are; an address elsewhere is not believed. */
  readonly processorNetworks: readonly Prefix[];
  readonly now: Date;
  /** Of the images that it is to boot. */
  readonly readiness: ReadinessByImage;
}

/**
 * Makes a machine the node: what is defined stays, what is not known is kept. Returns what there is to say besides. A node that has its
 * machine already learns nothing: anybody can send its MAC address, and `bmc` decides where passwords go.
 */
export function planAdoption(draft: Draft, adoption: Adoption): string[] {
  const { node, machine, by, now } = adoption;
  const reader = effectiveReader(draft.base);
  if (identityOf(reader, node).macs.length > 0) return [];
  set(draft, node, { mac: machine.mac });
  const vpd = { uuid: machine.uuid, serial: machine.serial, mtm: machine.serial && machine.model };
  const present = reader.row(tableNamed('vpd'), node) ?? {};
  const missing = Object.entries(vpd).filter(([column, value]) => value && !present[column]);
  if (missing.length > 0) draft.merge('vpd', node, { node, ...Object.fromEntries(missing) });
  const notes = keepProcessor(draft, reader, adoption);
  draft.merge('discoverydata', keyOfMachine(machine), recordOf(node, by, machine, now));
  return [...notes, ...goOn(draft, adoption)];
}

function set(draft: Draft, name: string, attributes: Readonly<Record<string, string>>): void {
  assign(draft, { type: nodeType, name, attributes, mode: 'set', fresh: false });
}

/** Accounts are sent to it, so that a machine is believed only where the configuration says that BMCs are. */
function keepProcessor(
  draft: Draft,
  reader: EffectiveReader,
  { node, machine: { bmc }, processorNetworks }: Adoption,
): string[] {
  if (bmc === undefined || nodeAttribute(reader, node, 'bmc') !== undefined) return [];
  if (!['ipmi', 'openbmc', 'redfish'].includes(nodeAttribute(reader, node, 'mgt') ?? '')) return [];
  const ip = parseIp(bmc)!;
  const left = (why: string): string[] => [`It says that its BMC is ${bmc}, which was not kept: ${why}.`];
  if (!processorNetworks.some((network) => contains(network, ip)))
    return left('it is in none of the networks of the setting hardware.networks');
  if (claimsOfSite(draft.base)(addressClaim(bmc))) return left('that is the management node or a gateway');
  set(draft, node, { bmc });
  return [];
}

/** The state that a node waits for as soon as its machine is known: its chain, else its present state, else its image. */
export function stateAfterDiscovery(reader: EffectiveReader, node: string): string | undefined {
  const { chain = '', ondiscover = '', currstate } = reader.row(tableNamed('chain'), node) ?? {};
  if (chain !== '') return chain;
  if (ondiscover !== '') return statesOnDiscovery(ondiscover);
  if (currstate !== undefined) return undefined;
  return reader.row(tableNamed('nodetype'), node)?.['provmethod'] === undefined ? undefined : 'osimage';
}

function goOn(draft: Draft, { node, readiness }: Adoption): string[] {
  const state = stateAfterDiscovery(effectiveReader(draft.base), node);
  if (state === undefined) return [];
  const failed = (why: string): string[] => [`${node} could not be brought to the state "${state}": ${why}`];
  try {
    // What it cannot boot now stands on its screen as soon as it tries.
    const options = { snapshot: draft.snapshot(), readiness, force: true };
    const [result] = atOnce(planBootStates(draft, [node], parseBootStates(state), options));
    if (result && 'error' in result) return failed(result.error);
    const { Message } = (result && 'value' in result ? result.value : {}) as { readonly Message?: string };
    return Message === undefined ? [] : [`${node} is brought to the state "${state}": ${Message}`];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return failed(error.sentences.join(' '));
  }
}

/** Machines without a UUID of their own are distinguished by the MAC they boot from. */
export const keyOfMachine = ({ uuid, mac }: Machine): string => uuid ?? `mac-${mac.replaceAll(':', '')}`;

const recordOf = (node: string, by: readonly string[], machine: Machine, now: Date) => {
  const { cpus, memoryMiB, model, serial, arch, macs, neighbours, disks } = machine;
  const [neighbour] = neighbours;
  const filled = (text: string | undefined): string | undefined => (text === '' ? undefined : text);
  return {
    uuid: keyOfMachine(machine),
    node,
    method: by.join(','),
    discoverytime: now.toISOString(),
    arch: filled(arch),
    cpucount: cpus?.toString(),
    memory: memoryMiB === undefined ? undefined : `${memoryMiB}MB`,
    mtm: filled(model),
    serial,
    nichwaddr: macs.join(','),
    switchname: neighbour?.chassis,
    switchport: neighbour?.port,
    otherdata: filled(disks.join('; ')),
  };
};
