import { hostname } from 'node:os';
import type { AddressGuard } from '../../core/address-guard.ts';
import { type FaultData, orFault, Unreachable } from '../../core/errors.ts';
import { ipText, parseIp } from '../../core/ip.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { effectiveReader, listItems, siteValue } from '../../objects/effective.ts';
import type { Resolve } from '../../objects/host-names.ts';
import { nodeAttribute } from '../../objects/node-attributes.ts';
import type { Target } from '../../protocols/ssh/target.ts';
import { knownHostKey } from '../ssh-host-keys.ts';

/** A target with what a process without a database has to know of it. */
export interface RemoteTarget extends Target {
  readonly hostKey?: string | undefined;
  readonly jump?: RemoteTarget | undefined;
}

export interface TargetOptions {
  readonly snapshot: Snapshot;
  /** Finds addresses of names that no definition gives one. */
  readonly resolve: Resolve;
  readonly guard: AddressGuard;
  readonly port: number;
  readonly user: string;
}

/** Finds where nodes are, and through which service node they are reached. Where none can be found, whoever goes there is told why. */
export function remoteTargets({
  snapshot,
  resolve,
  guard,
  port,
  user,
}: TargetOptions): (node: string) => Promise<RemoteTarget | FaultData> {
  const reader = effectiveReader(snapshot);
  /** Service nodes serve many nodes. */
  const jumps = new Map<string, Promise<RemoteTarget>>();
  const addressOf = async (name: string): Promise<string> => {
    const ip = reader.nodeRow(name) && nodeAttribute(reader, name, 'ip');
    if (ip) return ip;
    const itself = parseIp(name);
    if (itself) return ipText(itself);
    const found = await resolve(name);
    if (!found) throw new Unreachable(`no address is known of ${name}; set its ip, or make it known to DNS.`);
    return ipText(found);
  };
  const direct = async (name: string): Promise<RemoteTarget> => {
    const address = await guard.admit(await addressOf(name));
    return { name, address, port, user, hostKey: knownHostKey(snapshot, name) };
  };
  const through = (name: string): Promise<RemoteTarget> => {
    let jump = jumps.get(name);
    if (!jump) jumps.set(name, (jump = direct(name)));
    return jump;
  };
  /** The first of its service nodes, unless that is this machine. */
  const serviceNode = (node: string): string | undefined => {
    const [first] = listItems(nodeAttribute(reader, node, 'servicenode') ?? '');
    const [own = ''] = hostname().split('.', 1);
    const isHere = first === undefined || [node, siteValue(snapshot, 'master'), own, hostname()].includes(first);
    return isHere ? undefined : first;
  };
  const wayTo = async (node: string): Promise<RemoteTarget> => {
    const via = serviceNode(node);
    const [target, jump] = await Promise.all([direct(node), via === undefined ? undefined : through(via)]);
    return jump === undefined ? target : { ...target, jump };
  };
  return (node) => orFault(wayTo(node));
}
