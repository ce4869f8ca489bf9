import { Resolver } from 'node:dns/promises';
import { type Finding, wellOf, wrongOf } from '../core/finding.ts';
import { contains, ipText, isSameIp, parseIp } from '../core/ip.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { type EffectiveReader, effectiveReader, siteValue } from '../objects/effective.ts';
import { networksOf } from '../objects/networks.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import type { Ground } from './self-check.ts';

/** A few show whether names are served at all. */
const mostNodes = 3;
const timeout = 3_000;
/** What stands for this server in tables. */
const thisServer = '<xcatmaster>';

/** Asks the name servers that nodes are given for the address of a node. */
export async function checkDns({ store }: Ground): Promise<Finding[]> {
  const snapshot = store.current;
  const reader = effectiveReader(snapshot);
  const domain = siteValue(snapshot, 'domain') ?? '';
  const asked: Promise<Finding>[] = [];
  for (const node of snapshot.rows('nodelist').keys()) {
    if (asked.length >= mostNodes) break;
    const address = parseIp((nodeAttribute(reader, node, 'ip') ?? '').split(',', 1)[0]!);
    if (!address) continue;
    const [server] = serversOf(snapshot, reader, node);
    if (server === undefined)
      return [
        wrongOf(
          'dns',
          `nodes such as ${node} are given no name server: chdef -t site nameservers=ADDRESS, with the address of this machine if muster serves DNS`,
        ),
      ];
    if (domain === '') return [wrongOf('dns', 'names of nodes have no domain: chdef -t site domain=DOMAIN')];
    asked.push(askFor(`${node}.${domain}`, ipText(address), server));
  }
  return asked.length === 0 ? [wellOf('dns', 'no node has an address to ask for')] : Promise.all(asked);
}

/** Those of the node's network, or of the site. */
function serversOf(snapshot: Snapshot, reader: EffectiveReader, node: string): string[] {
  const ip = parseIp((nodeAttribute(reader, node, 'ip') ?? '').split(',', 1)[0]!)!;
  const network = networksOf(snapshot).find(({ prefix }) => contains(prefix, ip));
  const text = network?.row['nameservers'] || siteValue(snapshot, 'nameservers') || '';
  return text
    .split(/[\s,;]+/)
    .map((each) => (each === thisServer ? (siteValue(snapshot, 'master') ?? '') : each))
    .filter((each) => parseIp(each) !== undefined);
}

async function askFor(name: string, address: string, server: string): Promise<Finding> {
  const resolver = new Resolver({ timeout, tries: 2 });
  const ip = parseIp(server)!;
  resolver.setServers([ip.family === 6 ? `[${server}]` : server]);
  const expected = parseIp(address)!;
  try {
    const found = await (expected.family === 6 ? resolver.resolve6(name) : resolver.resolve4(name));
    if (found.some((each) => isSameIp(parseIp(each)!, expected)))
      return wellOf('dns', `${server} gives ${name} the address ${address}`);
    return wrongOf(
      'dns',
      `${server} gives ${name} the address ${found.join(', ')}, and the tables say ${address}: makehosts, then makedns`,
    );
  } catch (error) {
    const { code = 'error' } = error as NodeJS.ErrnoException;
    return /ENOTFOUND|ENODATA/.test(code)
      ? wrongOf('dns', `${server} does not know ${name}: makehosts, then makedns`)
      : wrongOf(
          'dns',
          `${server}, which nodes ask, does not answer (${code}): start the name server there, or correct the site attribute nameservers`,
        );
  }
}
