import { isIP } from 'node:net';
import { Fault } from '../../core/errors.ts';
import { formatListen } from '../../core/listen-address.ts';

export interface Target {
  /** What its host key is kept under: the name of the node. */
  readonly name: string;
  readonly address: string;
  /** Default: 22. */
  readonly port?: number | undefined;
  readonly user: string;
  /** Shown instead of the key, to hand out the key for example. Such connections are not kept. */
  readonly password?: string | undefined;
  readonly jump?: Target | undefined;
}

export const defaultPort = 22;
const maximumJumps = 4;

// Both end up as words of an ssh command in the process transport, where a leading dash would make them options.
const hostName = /^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252})$/;
const userName = /^[A-Za-z0-9_.][A-Za-z0-9_.@$+\\-]{0,127}$/;

export const isHostName = (text: string): boolean => hostName.test(text);

export const portOf = ({ port }: Target): number => port ?? defaultPort;

export const hostAndPort = (target: Target): string => formatListen({ host: target.address, port: portOf(target) });

/** The target and the machines it is reached through. */
export function wayTo(target: Target): Target[] {
  return target.jump === undefined ? [target] : [target, ...wayTo(target.jump)];
}

/** Equal for targets that may share a connection. */
export function connectionKey(target: Target): string {
  const through = target.jump === undefined ? '' : ` ${connectionKey(target.jump)}`;
  return `${target.user} ${target.name} ${hostAndPort(target)}${through}`;
}

export function checkTarget(target: Target): void {
  const { address, user } = target;
  if (isIP(address) === 0 && !isHostName(address)) {
    throw new Fault('invalid', `"${address}" is neither an address nor the name of a host.`);
  }
  if (!userName.test(user)) throw new Fault('invalid', `"${user}" is not the name of a user on a node.`);
  let jumps = 0;
  for (let at = target.jump; at !== undefined; at = at.jump) {
    if (++jumps > maximumJumps) throw new Fault('invalid', `it is reached through more than ${maximumJumps} others.`);
  }
  if (target.jump !== undefined) checkTarget(target.jump);
}
