import { dirname, resolve, sep } from 'node:path';
import { networkInterfaces } from 'node:os';
import { Fault } from '../../core/errors.ts';
import { ipKind, parseIp, parsePrefix, prefixText, ipText } from '../../core/ip.ts';
import type { ListenAddress } from '../../core/host-address.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { siteValue } from '../../objects/effective.ts';
import { networksOf } from '../../objects/networks.ts';
import type { Layout } from './layout.ts';
import { isOfAddress } from './zones.ts';

/** How every version of muster begins the file. */
export const confMark = '// Written by muster: ';

/** What named is configured with besides its zones. Every value was parsed, so that nothing of it can be read as anything else. */
export interface NamedOptions {
  readonly forwarders: readonly string[];
  readonly forwardOnly: boolean;
  readonly emptyZones: boolean | undefined;
  readonly updaters: readonly string[];
  readonly clients: readonly string[];
  readonly includes: readonly string[];
  readonly listen: readonly ListenAddress[] | undefined;
}

const items = (text: string | undefined): string[] => (text ?? '').split(/[\s,;]+/).filter((item) => item !== '');

export function namedOptions(snapshot: Snapshot, layout: Layout): NamedOptions {
  const site = (name: string): string | undefined => siteValue(snapshot, name);
  const networks = networksOf(snapshot).filter(({ prefix }) => ipKind(prefix) === 'host');
  return {
    forwarders: items(site('forwarders')).map((text) => address(text, 'site.forwarders')),
    forwardOnly: forwardMode(site('dnsforwardmode')),
    emptyZones: yesOrNo(site('emptyzonesenable'), 'site.emptyzonesenable'),
    updaters: items(site('dnsupdaters')).map((text) => addressOrNetwork(text, 'site.dnsupdaters')),
    clients: networks.map(({ prefix }) => prefixText(prefix)),
    includes: items(site('namedincludes')).map((path) => includable(path, layout)),
    listen: layout.listen ?? interfaceAddresses(site('dnsinterfaces')),
  };
}

function address(text: string, where: string): string {
  const ip = parseIp(text);
  if (ip) return ipText(ip);
  throw new Fault('invalid', `${where}: ${JSON.stringify(text)} is not an IP address.`);
}

function addressOrNetwork(text: string, where: string): string {
  const prefix = parsePrefix(text);
  return prefix ? prefixText(prefix) : address(text, where);
}

function forwardMode(mode = 'first'): boolean {
  if (mode === 'first' || mode === 'only') return mode === 'only';
  throw new Fault('invalid', `site.dnsforwardmode: ${JSON.stringify(mode)} is neither "first" nor "only".`);
}

function yesOrNo(text: string | undefined, where: string): boolean | undefined {
  if (text === undefined || text === '') return undefined;
  if (/^(yes|y|1|enable)$/i.test(text)) return true;
  if (/^(no|n|0|disable)$/i.test(text)) return false;
  throw new Fault('invalid', `${where}: ${JSON.stringify(text)} is neither "yes" nor "no".`);
}

/** Only files beside the configuration: named shows what it cannot read in its messages. */
function includable(path: string, { configuration }: Layout): string {
  const directory = dirname(configuration);
  const whole = resolve(directory, path);
  if (whole.startsWith(directory + sep) && /^[\w./-]+$/.test(whole)) return whole;
  throw new Fault('invalid', `site.namedincludes: ${JSON.stringify(path)} is not a file below ${directory}.`);
}

/** `eth0,eth1`, or `host|eth0,...;...` where only the part for the management node (xcatmn) counts. */
function interfaceAddresses(text: string | undefined): ListenAddress[] | undefined {
  if (!text) return undefined;
  const own = text
    .split(';')
    .map((part) => part.split('|'))
    .filter((part) => part.length === 1 || part[0]?.trim() === 'xcatmn')
    .flatMap((part) => items(part.at(-1)));
  if (own.length === 0) return undefined;
  const known = networkInterfaces();
  const addresses = own.flatMap((name) => {
    const found = known[name];
    if (!found)
      throw new Fault('invalid', `site.dnsinterfaces: this machine has no interface ${JSON.stringify(name)}.`);
    return found.flatMap((each) => (ipKind(parseIp(each.address)!) === 'link-local' ? [] : each.address));
  });
  return ['127.0.0.1', ...addresses].map((host) => ({ host, port: 53 }));
}

const list = (values: readonly string[]): string => values.map((value) => `${value}; `).join('');

/** The whole configuration; the zones' files are in `zoneDirectory`. */
export function renderConf(
  layout: Layout,
  options: NamedOptions,
  zones: readonly string[],
  zoneDirectory: string,
): string {
  const { directory, keyFile, transferKeyFile, how } = layout;
  const { forwarders, forwardOnly, emptyZones, updaters, clients, includes } = options;
  const updates = `allow-update { key "muster"; ${list(updaters)}};`;
  const lines = [
    `${confMark}POST /services/dns replaces this file, and changes by hand are lost.`,
    `include "${keyFile}";`,
    `include "${transferKeyFile}";`,
    // muster sends signals; systemd's unit uses rndc.
    ...(how === 'process' ? ['controls { };'] : []),
    'options {',
    `  directory "${directory}";`,
    `  managed-keys-directory "${directory}";`,
    ...(how === 'process' ? [`  pid-file "${directory}/named.pid";`, '  session-keyfile none;'] : []),
    ...renderListen(options.listen),
    '  allow-query { any; };',
    `  allow-recursion { localhost; localnets; ${list(clients)}};`,
    '  allow-transfer { key "muster"; key "muster-transfer"; };',
    '  notify no;',
    ...(forwarders.length > 0
      ? [
          `  forwarders { ${list(forwarders)}};`,
          `  forward ${forwardOnly ? 'only' : 'first'};`,
          '  dnssec-validation no;',
        ]
      : []),
    ...(emptyZones === undefined ? [] : [`  empty-zones-enable ${emptyZones ? 'yes' : 'no'};`]),
    ...(forwarders.length > 0 ? privateSpaces(zones).map((space) => `  disable-empty-zone "${space}";`) : []),
    '};',
    ...zones.map((zone) => `zone "${zone}" { type primary; file "${zoneDirectory}/db.${zone}"; ${updates} };`),
    ...includes.map((file) => `include "${file}";`),
  ];
  return `${lines.join('\n')}\n`;
}

const privateSpace =
  /\.((?:10|(?:1[6-9]|2\d|3[01])\.172|168\.192|(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.100)\.in-addr\.arpa|d\.f\.ip6\.arpa)$/;

/** The private address spaces of single addresses. BIND says that all others there have no names, unless it has to ask the forwarders. */
const privateSpaces = (zones: readonly string[]): string[] => [
  ...new Set(zones.filter(isOfAddress).flatMap((zone) => privateSpace.exec(zone)?.[1] ?? [])),
];

/** Where named listens; undefined: everywhere. */
export function renderListen(listen: readonly ListenAddress[] | undefined): string[] {
  if (!listen) return ['  listen-on { any; };', '  listen-on-v6 { any; };'];
  const statements: string[] = [];
  for (const family of [4, 6] as const) {
    const word = family === 4 ? 'listen-on' : 'listen-on-v6';
    const own = listen.flatMap(({ host, port }) => (parseIp(host)?.family === family ? [{ host, port }] : []));
    if (own.length === 0) statements.push(`  ${word} { none; };`);
    for (const { host, port } of own) {
      statements.push(`  ${word} port ${port} { ${host === '0.0.0.0' || host === '::' ? 'any' : host}; };`);
    }
  }
  return statements;
}
