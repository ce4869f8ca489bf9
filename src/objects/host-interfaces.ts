import { Fault } from '../core/errors.ts';
import { isSameIp, parseIp } from '../core/ip.ts';
import { tableNamed } from '../database/tables.ts';
import type { EffectiveReader } from './effective.ts';
import { nicParts } from './node-attributes.ts';

/** A name of a node with the address it has been given, as stored and not yet checked. */
export interface HostInterface {
  readonly name: string;
  /** Undefined: to be looked up. */
  readonly ip: string | undefined;
  readonly others: readonly string[];
  /** Where the address stands, for error messages. */
  readonly attribute: string;
  /** Where the name stands; the node's own name needs none. */
  readonly nameAttribute: string;
  /** Where the other names stand. */
  readonly othersAttribute: string;
}

const hostsTable = tableNamed('hosts');
const nicsTable = tableNamed('nics');

/** Whether anything says which addresses or names the node has. */
export const hasHostData = (reader: EffectiveReader, node: string): boolean =>
  reader.row(hostsTable, node) !== undefined || reader.row(nicsTable, node)?.['nicips'] !== undefined;

/** All names of a node: its own first, then those of its other interfaces. `known`: its own address if no definition has it. */
export function interfacesOf(reader: EffectiveReader, node: string, known?: string): HostInterface[] {
  const row = reader.row(hostsTable, node);
  const main: HostInterface = {
    name: node,
    ip: row?.['ip'] ?? known,
    others: words(row?.['hostnames'] ?? ''),
    attribute: 'hosts.ip',
    nameAttribute: 'nodelist.node',
    othersAttribute: 'hosts.hostnames',
  };
  const nics: HostInterface[] = [];
  const atMain: string[] = [];
  for (const nic of nicsOf(reader, node)) {
    // The nic that has the node's own address gets no line of its own: it would take the place of the node's.
    if (isSame(nic.ip, main.ip)) atMain.push(nic.name, ...nic.others);
    else nics.push(nic);
  }
  const others = [...new Set([...main.others, ...atMain])].filter((name) => name !== node);
  return [{ ...main, others }, ...otherInterfaces(node, row?.['otherinterfaces'] ?? ''), ...nics];
}

function isSame(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  if (a === b || !a.includes(':')) return a === b;
  const [left, right] = [parseIp(a), parseIp(b)];
  return left !== undefined && right !== undefined && isSameIp(left, right);
}

const words = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '');

/** `name:address` items; a name that begins with "-" is appended to the node's. */
function otherInterfaces(node: string, text: string): HostInterface[] {
  const attribute = 'hosts.otherinterfaces';
  return words(text).map((item) => {
    const [, name, ip] = /^([^:!]+)[:!](.+)$/.exec(item) ?? [];
    if (name === undefined || ip === undefined)
      throw new Fault('invalid', `Node ${node}, ${attribute}: "${item}" is not of the form name:address.`);
    return {
      name: name.startsWith('-') ? node + name : name,
      ip,
      others: [],
      attribute,
      nameAttribute: attribute,
      othersAttribute: attribute,
    };
  });
}

/** One for every address in nicips; several of a nic stand beside each other in all columns, separated by "|". */
function nicsOf(reader: EffectiveReader, node: string): HostInterface[] {
  const row = reader.row(nicsTable, node);
  if (!row?.['nicips']) return [];
  const column = (name: string): Map<string, string[]> =>
    new Map(nicParts(row[name] ?? '').map(([nic, value]) => [nic, value.split('|').map((part) => part.trim())]));
  const suffixes = column('nichostnamesuffixes');
  const prefixes = column('nichostnameprefixes');
  const aliases = column('nicaliases');
  const found: HostInterface[] = [];
  // The last nic comes first, as in the files the reference system writes.
  for (const [nic, ips] of [...column('nicips')].reverse()) {
    for (const [i, ip] of ips.entries()) {
      if (ip === '') continue;
      const prefix = prefixes.get(nic)?.[i] ?? '';
      const suffix = suffixes.get(nic)?.[i] || (prefix === '' ? `-${nic}` : '');
      found.push({
        name: prefix + node + suffix,
        ip,
        others: words(aliases.get(nic)?.[i] ?? ''),
        attribute: `nicips.${nic}`,
        nameAttribute: `nichostnamesuffixes.${nic}`,
        othersAttribute: `nicaliases.${nic}`,
      });
    }
  }
  return found;
}
