import { Snapshot } from '../database/snapshot.ts';
import { tableNamed } from '../database/tables.ts';
import { type EffectiveReader, effectiveReader, siteValue } from './effective.ts';
import { nicParts } from './node-attributes.ts';
import { networksOf } from './networks.ts';

export const clusterDomains = Snapshot.cached((snapshot): ReadonlySet<string> => {
  const given = [siteValue(snapshot, 'domain'), ...networksOf(snapshot).map(({ row }) => row['domain'])];
  return new Set(given.flatMap((domain) => domain?.toLowerCase() || []));
});

/** The longest of the domains that a name in small letters lies in. */
export function domainAround(name: string, domains: ReadonlySet<string>): string | undefined {
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
export function definedNames(reader: EffectiveReader, node: string): string[] {
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
