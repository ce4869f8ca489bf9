import { Fault } from '../core/errors.ts';
import { parseIp } from '../core/ip.ts';
import { isNodeName } from '../core/object-names.ts';

const label = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,62}$/;
const reserved = /^(localhost|ip6-[a-z]+|broadcasthost)(\.|$)/i;
const maximumName = 253;

const shown = (name: string): string => JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}...` : name);

/** Why text cannot be the name of a host in files and zones; undefined if it can. */
export function hostNameProblem(name: string): string | undefined {
  if (name.length > maximumName) return `${shown(name)} is longer than ${maximumName} characters`;
  if (parseIp(name)) return `${shown(name)} is an address, not a name`;
  if (reserved.test(name)) return `${shown(name)} belongs to the management node`;
  if (isNodeName(name)) return undefined;
  if (name.split('.').every((part) => label.test(part))) return undefined;
  return `${shown(name)} is not a host name (letters, digits, "-" and "_" in parts of at most 63 characters, separated by ".")`;
}

export function checkHostName(name: string, where: string): void {
  const problem = hostNameProblem(name);
  if (problem) throw new Fault('invalid', `${where}: ${problem}.`);
}
