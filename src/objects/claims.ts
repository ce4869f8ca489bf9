import { canonicalAddress } from '../access/addresses.ts';
import { ipText, parseIp } from '../core/ip.ts';
import { Snapshot } from '../database/snapshot.ts';
import { type Row, tableNamed } from '../database/tables.ts';
import { type EffectiveReader, effectiveReader, siteValue } from './effective.ts';
import { managementNode, networksOf } from './networks.ts';
import { nicParts } from './node-attributes.ts';
import { isPattern } from './substitution/index.ts';

export const clusterDomains = Snapshot.cached((snapshot): ReadonlySet<string> => {
  const given = [siteValue(snapshot, 'domain'), ...networksOf(snapshot).map(({ row }) => row['domain'])];
  return new Set(given.flatMap((domain) => domain?.toLowerCase() || []));
});

/** The longest of the domains that a name in small letters lies in. */
function domainAround(name: string, domains: ReadonlySet<string>): string | undefined {
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
    const domain = name.slice(dot + 1);
    if (domains.has(domain)) return domain;
  }
  return undefined;
}

const hostsTable = tableNamed('hosts');
const nicsTable = tableNamed('nics');
const words = (text: string): string[] => text.split(/[\s,|]+/).filter((word) => word !== '');

/** The names a node would have outside the cluster's domains: in the hosts file they would redirect the management node itself. */
export function foreignNames(snapshot: Snapshot, node: string): Set<string> {
  const domains = clusterDomains(snapshot);
  const isForeign = (name: string): boolean => {
    const lower = name.toLowerCase().replace(/\.$/, '');
    // The end of no domain is a number, but a nic such as bond0.100 looks like it.
    if (!lower.includes('.') || /\.\d+$/.test(lower)) return false;
    return !domains.has(lower) && domainAround(lower, domains) === undefined;
  };
  return new Set(definedNames(effectiveReader(snapshot), node).filter(isForeign));
}

/** Every name that definitions give the node or its interfaces, however they are written. */
function definedNames(reader: EffectiveReader, node: string): string[] {
  if (!reader.nodeRow(node)) return [];
  const { hostnames = '', otherinterfaces = '' } = reader.row(hostsTable, node) ?? {};
  const nics = reader.row(nicsTable, node) ?? {};
  const parts = (column: string): string[] => nicParts(nics[column] ?? '').flatMap(([, value]) => words(value));
  return [
    node,
    ...words(hostnames),
    ...words(otherinterfaces)
      .map((item) => item.split(/[:!]/, 1)[0]!)
      .map((name) => (name.startsWith('-') ? node + name : name)),
    ...nicParts(nics['nicips'] ?? '').map(([nic]) => `${node}-${nic}`),
    ...parts('nicaliases'),
    ...parts('nichostnamesuffixes').map((suffix) => node + suffix),
    ...parts('nichostnameprefixes').map((prefix) => prefix + node),
  ];
}

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
  ['switch', 'switch', 'port'],
];

/** What says which machine a node is, such as addresses and keys: a text that is the same for all, and what people call it. */
export function claimsOf(reader: EffectiveReader, node: string): Map<string, string> {
  const claims = new Map<string, string>();
  for (const [table, column, value] of values(reader, node, addressColumns)) {
    for (const address of addressesIn(value)) claims.set(addressClaim(address), `the address ${address}`);
    if (column === 'bmc')
      for (const name of namesIn(value)) claims.set(leadClaim(name), `the ${table} address "${name}"`);
  }
  const plain = plainNames(reader.snapshot);
  const names = new Set(definedNames(reader, node).map(plain));
  for (const name of names) claims.set(hostMark + name, `the name "${name}"`);
  for (const [, , value] of values(reader, node, macColumns)) {
    for (const { mac, host } of macsIn(value)) {
      if (mac !== '') claims.set(`mac ${mac}`, `the MAC ${mac}`);
      if (host !== '' && host !== '*NOIP*' && !names.has(plain(host)))
        claims.set(leadClaim(host), `the address of "${host}"`);
    }
  }
  for (const identity of identities)
    for (const row of rowsOf(reader, identity[0], node)) addIdentity(claims, identity, row);
  for (const { pdu = '' } of rowsOf(reader, 'pduoutlet', node))
    for (const outlet of pieces(pdu)) claims.set(`pdu ${outlet}`, `the pdu ${outlet}`);
  return claims;
}

type Identity = (typeof identities)[number];

function addIdentity(claims: Map<string, string>, [name, ...columns]: Identity, row: Row): void {
  const parts = columns.map((column) => row[column] ?? '');
  const compared = name === 'vpd' ? parts.map(bareText) : parts;
  if (parts.every((part) => part !== ''))
    claims.set(`${name} ${compared.join(' ')}`, `the ${columns.join(' and ')} ${parts.join(' ')}`);
}

/** What one row says of the machine itself: MAC addresses, UUID and serial number. Patterns say nothing. */
export function machineClaims(table: string, row: Row = {}): Map<string, string> {
  const claims = new Map<string, string>();
  if (table === 'mac' && row['mac'] && !isPattern(row['mac']))
    for (const { mac } of macsIn(row['mac'])) if (mac !== '') claims.set(`mac ${mac}`, `the MAC ${mac}`);
  if (table === 'vpd') for (const identity of identities) if (identity[0] === 'vpd') addIdentity(claims, identity, row);
  return claims;
}

export const uuidClaim = (uuid: string): string => `vpd ${bareText(uuid)}`;
export const serialClaim = (serial: string, mtm: string): string => `vpd ${bareText(mtm)} ${bareText(serial)}`;

/** Letters and digits alone, in capitals: makers and people write the rest of serial numbers and UUIDs as they like. */
export const bareText = (text: string): string => text.toUpperCase().replaceAll(/[^A-Z0-9]/g, '');

const addressMark = 'ip ';
const hostMark = 'host ';

/** The claim on an address, however it is written. */
export const addressClaim = (address: string): string => addressMark + canonicalAddress(address);

/** The claim on the name of a host, with or without a domain of the cluster. */
export const hostClaim = (snapshot: Snapshot, name: string): string => hostMark + plainNames(snapshot)(name);

/** Finds claims on what belongs to no node and yet to somebody: addresses of the management node and of gateways. */
export function claimsOfSite(snapshot: Snapshot): (claim: string) => boolean {
  const own = managementNode(snapshot);
  const gateways = new Set(networksOf(snapshot).flatMap(({ row }) => addressesIn(row['gateway'] ?? '')));
  return (claim) => {
    const address = claim.startsWith(addressMark) ? claim.slice(addressMark.length) : '';
    const ip = parseIp(address);
    return ip !== undefined && (own.hasAddress(ip) || gateways.has(address));
  };
}

const leadClaim = (name: string): string => `name ${name.toLowerCase()}`;

/** Whether a claim is on what a name leads to: whose machine that is cannot be seen from the definitions. */
export const isNameClaim = (claim: string): boolean => claim.startsWith('name ');

/** Names of hosts are the same in capital letters, and with a domain of the cluster. */
const plainNames = Snapshot.cached((snapshot) => {
  const domains = clusterDomains(snapshot);
  return (name: string): string => {
    const lower = name.toLowerCase().replace(/\.$/, '');
    const domain = domainAround(lower, domains);
    return domain === undefined ? lower : lower.slice(0, -domain.length - 1);
  };
});

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
    return ip ? canonicalAddress(ipText(ip)) : [];
  });

const namesIn = (value: string): string[] => pieces(value).filter((piece) => !parseIp(piece));

/** `mac[!host]|...`, with the host whose address it gets. */
const macsIn = (value: string): { mac: string; host: string }[] =>
  value.split('|').map((part) => {
    const [mac = '', host = ''] = part.split('!', 2);
    return { mac: mac.replaceAll(/[^0-9a-f]/gi, '').toLowerCase(), host: host.trim() };
  });
