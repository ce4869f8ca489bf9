import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import readers from '../../src/database/readers.json' with { type: 'json' };
import { tables } from '../../src/database/tables.ts';
import { attributeLists } from '../../src/objects/attribute-list.ts';
import { attributeNamed, nodeType, typeNamed } from '../../src/objects/types.ts';

const source = join(import.meta.dirname, '../../src');
const reads: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = readers;

const hostNames = ['objects/host-interfaces.ts', 'objects/host-names.ts', 'objects/claims.ts', 'objects/networks.ts'];

/** Where readers are: directories and files below src, or the shipped scripts. */
const rooms: Readonly<Record<keyof typeof readers, readonly string[]>> = {
  'every request': [
    'access/policy.ts',
    'access/policy-rule.ts',
    'objects/policy.ts',
    'objects/effective.ts',
    'objects/groups.ts',
    'objects/cluster.ts',
    'objects/define.ts',
    'dispatch/consequences.ts',
    'rest/http/authenticate.ts',
  ],
  logins: ['objects/accounts.ts', 'access/logins.ts', 'access/token-scope.ts', 'accounts'],
  tokens: ['commands/tokens.ts', 'access/tokens.ts', 'objects/new-token.ts'],
  'power budgets': ['nodes/power-budgets', 'commands/power-budgets.ts'],
  housekeeping: ['housekeeping.ts'],
  doctor: ['self-check', 'objects/networks.ts'],
  tabprune: ['commands/tabprune.ts'],
  makehosts: ['names/hosts', ...hostNames],
  makeroutes: ['commands/makeroutes.ts', 'objects/networks.ts'],
  makenetworks: ['commands/makenetworks.ts'],
  makedns: ['names/dns', 'objects/networks.ts', ...hostNames],
  makedhcp: ['names/dhcp', 'objects/service-nodes.ts', ...hostNames],
  'boot states': ['boot/states.ts', 'boot/later-decisions.ts', 'boot/prepare-boot.ts', 'boot/readiness.ts'],
  'network boot': [
    'boot/added-arguments.ts',
    'boot/boot-order.ts',
    'boot/decision.ts',
    'boot/disk-layout.ts',
    'boot/image-users.ts',
    'boot/later-decisions.ts',
    'boot/readiness.ts',
    'objects/kept-claims.ts',
    'boot/node-index.ts',
    'boot/overlays',
    'boot/tokens.ts',
    'boot/ramdisk.ts',
    'boot/routes',
    'boot/statelite.ts',
    'commands/lsboot.ts',
  ],
  installers: ['boot/answers', 'boot/decision.ts', 'commands/lsanswers.ts', 'objects/networks.ts'],
  consoles: ['consoles', 'drivers/hardware.ts'],
  discovery: ['boot/discovery', 'nodes/discovery', 'boot/node-index.ts'],
  'hardware control': [
    'drivers/hardware.ts',
    'drivers/chassis-neighbours.ts',
    'objects/outlets.ts',
    'drivers/bmc',
    'drivers/ipmi',
    'drivers/redfish',
    'drivers/bmc/certificate-trust.ts',
    'drivers/certificates',
  ],
  'virtual machines': ['drivers/kvm', 'machines', 'commands/clonevm.ts', 'commands/machines.ts'],
  images: ['images', 'objects/node-image.ts'],
  workers: ['nodes/service-nodes.ts', 'nodes/duties.ts', 'commands/servers.ts'],
  'commands on nodes': ['nodes/remote', 'nodes/ssh-keys.ts', 'objects/networks.ts'],
  updates: ['nodes/update', 'objects/node-image.ts', 'boot/first-boot-sync.ts'],
  snmove: ['commands/snmove.ts', 'objects/service-nodes.ts', ...hostNames],
  'the postscript setupntp': ['../share/postscripts/setupntp'],
  'the postscript syslog': ['../share/postscripts/syslog'],
  events: ['events'],
  nodestat: ['commands/nodestat.ts', 'nodes/node-probes.ts'],
  'status of nodes': ['nodes/node-status.ts'],
};

/** What shows, writes and keeps all columns alike, or looks at what is written. */
const ofAll =
  /^(database|rest|admin)\/|^objects\/(assign|catalog|define|definitions|explain|node-attributes|node-marks|notes|table-access|trust)\.ts$|^(first-start|network-hints)\.ts$|^services\/removed-nodes\.ts$|^cli\/commands\/lslite\.ts$/;

function filesBelow(path: string): string[] {
  if (statSync(join(source, path)).isFile()) return [path];
  return readdirSync(join(source, path)).flatMap((name) => filesBelow(join(path, name)));
}

const codeOf = (path: string): string =>
  readFileSync(join(source, path), 'utf8')
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/^\s*\/\/.*$/gm, '');

const filesOf = new Map(Object.entries(rooms).map(([reader, paths]) => [reader, paths.flatMap(filesBelow)]));
const codes = new Map(
  [...new Set([...filesBelow('.'), ...[...filesOf.values()].flat()])].map((path) => [path, codeOf(path)]),
);

/** Other names under which code has a column: attributes of nodes and images. */
const namesFor = (table: string, column: string): string[] => [
  column,
  ...['node', 'osimage', 'osdistro'].flatMap((type) =>
    [...typeNamed(type).attributes].flatMap(([name, { at }]) =>
      at.some((where) => where.table === table && where.column === column) ? name : [],
    ),
  ),
];

/** As a text, a member, or one that is taken out of an object; in scripts as a variable. */
const mentions = (code: string, name: string): boolean =>
  new RegExp(`'(\\w+\\.)?${name}'|\\.${name}\\b|[{,]\\s*${name}\\s*[=,}:]|\\$\\{?${name.toUpperCase()}\\b`).test(code);

describe('who is said to read something', () => {
  it('does', () => {
    const untrue = Object.entries(reads).flatMap(([reader, ofTables]) =>
      Object.entries(ofTables).flatMap(([table, columns]) =>
        columns.flatMap((column) => {
          const names = table === 'site' ? [column] : namesFor(table, column);
          const found = filesOf.get(reader)!.some((file) => names.some((name) => mentions(codes.get(file)!, name)));
          return found ? [] : `${reader}: ${table}.${column}`;
        }),
      ),
    );
    expect(untrue).toEqual([]);
  });

  it('reads what there is', () => {
    const wrong = Object.values(reads).flatMap((ofTables) =>
      Object.entries(ofTables).flatMap(([table, columns]) => {
        const list = attributeLists.get(table === 'site' ? 'site' : `tables.${table}`);
        return columns.filter((column) => !list?.[column]).map((column) => `${table}.${column}`);
      }),
    );
    expect(wrong).toEqual([]);
  });
});

/** Files and what they are seen to read, as table.column; several where the table is not clear. */
function* seen(): Iterable<{ file: string; what: string; places: string[] }> {
  const image = typeNamed('osimage');
  const placesOf = (type: typeof nodeType, name: string): string[] =>
    type.attributes.has(name) ? attributeNamed(type, name).at.map(({ table, column }) => `${table}.${column}`) : [];
  for (const [file, code] of codes) {
    if (ofAll.test(file) || !file.endsWith('.ts')) continue;
    for (const [, name = ''] of code.matchAll(/\b(?:siteValue\([\w.#]+, |site\()'(\w+)'/g))
      yield { file, what: name, places: [`site.${name}`] };
    for (const [, name = ''] of code.matchAll(/nodeAttribute\(reader, \w+, '(\w+)'\)/g))
      yield { file, what: name, places: placesOf(nodeType, name) };
    for (const [, name = ''] of code.matchAll(/image\.attribute\('(\w+)'/g))
      yield { file, what: name, places: placesOf(image, name) };
    // Whoever reads of the site has been seen above.
    const words = code.matchAll(/(?:tableNamed\(|rows\(|get\(|const table = |rowsFor\(reader, )'(\w+)'/g);
    const rowsOfNetworks = code.includes('objects/networks.ts') ? ['networks'] : [];
    const named = [...new Set([...rowsOfNetworks, ...[...words].map(([, name = '']) => name)])].flatMap((name) =>
      name === 'site' ? [] : (tables.get(name) ?? []),
    );
    const taken = code.matchAll(/\{([^{}]*)\}(?:: Row\b| = [^;]*\.(?:row|get)\()/g);
    const members = [...taken].flatMap(([, list = '']) => list.split(',').map((each) => each.split(/[:=]/)[0]!.trim()));
    for (const column of [...members, ...[...code.matchAll(/\['(\w+)'\]/g)].map(([, name = '']) => name)]) {
      const places = named.filter(
        ({ columns, keys, nodeColumn }) => columns.includes(column) && column !== nodeColumn && !keys.includes(column),
      );
      if (places.length > 0) yield { file, what: column, places: places.map(({ name }) => `${name}.${column}`) };
    }
  }
}

it('what code is seen to read is said, of the reader that the file belongs to', () => {
  const unsaid = [...seen()].flatMap(({ file, what, places }) => {
    const having = [...filesOf].filter(([, files]) => files.includes(file)).map(([reader]) => reader);
    const said = having.some((reader) =>
      places.some((place) => {
        const [table = '', column = ''] = place.split('.');
        return reads[reader]![table]?.includes(column);
      }),
    );
    return said ? [] : `${file}: ${what} (${places.join(' or ')}), of ${having.join(', ') || 'no reader'}`;
  });
  expect(unsaid).toEqual([]);
});
