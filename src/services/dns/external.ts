import type { SecretBox } from '../../access/secrets.ts';
import { Fault } from '../../core/errors.ts';
import { parseIp } from '../../core/ip.ts';
import { type ListenAddress, parseListen } from '../../core/listen-address.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { isEnabled } from '../../database/tables.ts';
import { siteValue } from '../../objects/effective.ts';
import { isHostName } from '../../protocols/dns/names.ts';
import { type TsigAlgorithm, tsigAlgorithms, type TsigKey } from '../../protocols/dns/tsig.ts';
import { readOptional } from '../optional-file.ts';

const dnsPort = 53;

/** Whether the names are kept by servers elsewhere, which are updated instead of one here. */
export const isExternal = (snapshot: Snapshot): boolean =>
  !/^(|0|no|n)$/i.test(siteValue(snapshot, 'externaldns') ?? '');

/** Those of site.nameservers, else the ones this machine asks itself. */
export function externalServers(snapshot: Snapshot): ListenAddress[] {
  const named = (siteValue(snapshot, 'nameservers') ?? '').split(/[\s,;]+/).flatMap((text) => {
    if (text === '' || text.startsWith('<')) return [];
    const server = parseIp(text) ? { host: text, port: dnsPort } : parseListen(text);
    if (!server || !parseIp(server.host))
      throw new Fault(
        'invalid',
        `site.nameservers: ${JSON.stringify(text)} is neither an IP address nor ADDRESS:PORT.`,
      );
    return server;
  });
  const servers = named.length > 0 ? named : resolvers();
  if (servers.length > 0) return servers;
  throw new Fault(
    'invalid',
    'site.externaldns is set, but neither site.nameservers nor /etc/resolv.conf names a server to update.',
  );
}

function resolvers(): ListenAddress[] {
  const lines = (readOptional('/etc/resolv.conf') ?? '').matchAll(/^nameserver[ \t]+(\S+)/gm);
  return [...lines].flatMap(([, host]) => (parseIp(host!) ? { host: host!, port: dnsPort } : []));
}

/** The passwd row with key omapi: the key's name, its secret in base64, and its algorithm. */
export function externalKey(snapshot: Snapshot, box: SecretBox): TsigKey {
  const row = [...snapshot.rows('passwd').values()].find(
    (each) => each['key'] === 'omapi' && each['username'] && each['password'] && isEnabled(each),
  );
  if (!row)
    throw new Fault(
      'invalid',
      'Updates of a name server elsewhere need its TSIG key: PUT /tables/passwd/rows/key=omapi,username=KEYNAME {"password":"SECRET IN BASE64","cryptmethod":"hmac-sha256"}.',
    );
  const name = row['username']!.toLowerCase().replace(/\.$/, '');
  const where = `Table passwd, key omapi, username ${JSON.stringify(row['username'])}`;
  // Names of keys often have underscores, which hosts may not have.
  if (!isHostName(name.replaceAll('_', '-'))) throw new Fault('invalid', `${where}: this cannot be the name of a key.`);
  const secret = box.open(row['password']!, 'passwd.password').trim();
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(secret)) throw new Fault('invalid', `${where}: the password is not base64.`);
  return { name, algorithm: algorithm(snapshot, row['cryptmethod'], where), secret: Buffer.from(secret, 'base64') };
}

function algorithm(snapshot: Snapshot, own: string | undefined, where: string): TsigAlgorithm {
  const text = (own || siteValue(snapshot, 'dhcpomapialgorithm') || 'hmac-sha256').toLowerCase();
  const found = (Object.keys(tsigAlgorithms) as TsigAlgorithm[]).find(
    (name) => name === text || name === `hmac-${text}`,
  );
  if (found) return found;
  throw new Fault('invalid', `${where}: ${JSON.stringify(text)} is none of ${Object.keys(tsigAlgorithms).join(', ')}.`);
}
