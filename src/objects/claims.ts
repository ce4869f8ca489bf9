import { ipText, parseIp } from '../core/ip.ts';
import { tableNamed } from '../database/tables.ts';
import type { EffectiveReader } from './effective.ts';

/** Columns whose values are addresses, perhaps among names and other pieces. */
const addressColumns = {
  hosts: ['ip', 'otherinterfaces'],
  nics: ['nicips'],
  ipmi: ['bmc'],
  openbmc: ['bmc'],
  dhcphost: ['ip'],
} as const;

const macColumns = { mac: ['mac'], dhcphost: ['mac'] } as const;

/** Columns that together say which device or machine it is. */
const identities: readonly (readonly [table: string, ...columns: string[]])[] = [
  ['spcert', 'fingerprint'],
  ['sshhostkey', 'hostkey'],
  ['vpd', 'mtm', 'serial'],
  ['vpd', 'uuid'],
  ['mp', 'mpa', 'id'],
  ['ppc', 'hcp', 'id'],
  ['pduoutlet', 'pdu'],
  ['switch', 'switch', 'port'],
];

/**
 * What says which machine a node is: addresses, MACs, certificates, keys, places. By a text that is the same whoever claims it; the
 * value is what people call it.
 */
export function claimsOf(reader: EffectiveReader, node: string): Map<string, string> {
  const claims = new Map<string, string>();
  for (const [table, column, value] of values(reader, node, addressColumns)) {
    for (const address of addressesIn(value)) claims.set(`ip ${address}`, `the address ${address}`);
    if (column === 'bmc')
      for (const name of namesIn(value)) claims.set(`name ${name.toLowerCase()}`, `the ${table} address "${name}"`);
  }
  for (const [, , value] of values(reader, node, macColumns))
    for (const mac of macsIn(value)) claims.set(`mac ${mac}`, `the MAC ${mac}`);
  for (const [name, ...columns] of identities) {
    for (const row of rowsOf(reader, name, node)) {
      const parts = columns.map((column) => row[column] ?? '');
      if (parts.every((part) => part !== ''))
        claims.set(`${name} ${parts.join(' ')}`, `the ${columns.join(' and ')} ${parts.join(' ')}`);
    }
  }
  return claims;
}

/** Whether a claim is a name: whose machine it leads to cannot be told from the definitions. */
export const isNameClaim = (claim: string): boolean => claim.startsWith('name ');

function* values(
  reader: EffectiveReader,
  node: string,
  columns: Readonly<Record<string, readonly string[]>>,
): Generator<readonly [table: string, column: string, value: string]> {
  for (const [table, names] of Object.entries(columns))
    for (const row of rowsOf(reader, table, node))
      for (const column of names) if (row[column]) yield [table, column, row[column]];
}

/** The row in effect, or all own rows where a node has several. */
function rowsOf(reader: EffectiveReader, name: string, node: string): readonly Readonly<Record<string, string>>[] {
  const table = tableNamed(name);
  if (table.keys.length > 1) return reader.ownRows(table, node);
  const row = reader.row(table, node);
  return row ? [row] : [];
}

const pieces = (value: string): string[] => value.split(/[\s,;|!]+/).filter((piece) => piece !== '');

/** Also those behind a name, as in `name:address`. */
const addressesIn = (value: string): string[] =>
  pieces(value).flatMap((piece) => {
    const ip = parseIp(piece) ?? parseIp(piece.slice(piece.indexOf(':') + 1));
    return ip ? ipText(ip) : [];
  });

const namesIn = (value: string): string[] => pieces(value).filter((piece) => !parseIp(piece));

const macsIn = (value: string): string[] =>
  value.split('|').flatMap((part) => {
    const mac = part
      .split('!', 1)[0]!
      .replaceAll(/[^0-9a-f]/gi, '')
      .toLowerCase();
    return mac === '' ? [] : mac;
  });
