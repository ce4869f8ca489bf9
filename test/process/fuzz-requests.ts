import { endpoints } from '../../src/rest/endpoints/index.ts';
import type { Endpoint } from '../../src/rest/endpoints/endpoint.ts';
import { tables } from '../../src/database/tables.ts';
import { objectTypes } from '../../src/objects/types.ts';
import {
  encoded,
  hostileNames,
  hostileRanges,
  hostileValues,
  jsonKeys,
  secretKeys,
  secretMark,
  secretRanges,
  secretSelections,
} from './hostile.ts';
import { rootPassword } from './process.ts';
import type { Random } from './random.ts';

export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
}

/** Placeholders for credentials that only the runner knows. */
export const goodToken = 'TOKEN';

const methods = ['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'];
const typeOfCollection: Readonly<Record<string, string>> = {
  nodes: 'node',
  osimages: 'osimage',
  networks: 'network',
  policy: 'policy',
  groups: 'group',
  globalconf: 'site',
};
/** What works on nodes would talk to whatever address the other requests have given them; a stream of events does not end. */
const offered = endpoints.filter(
  ({ command, reply }) => command.kind !== 'per-node' && command.name !== 'rinstall' && reply !== 'events',
);
const tableNames = [...tables.keys()];

/** A request made from an endpoint row, more or less spoilt. */
export function makeRequest(random: Random): FuzzRequest {
  const endpoint = random.pick(offered);
  const root = endpoint.only ?? random.pick(['/muster', '/xcatws']);
  const method = random.chance(94) ? endpoint.method : random.pick(methods);
  const table = random.chance(96) ? random.pick(tableNames) : random.pick(hostileNames);
  const path = root + spoiltPath(random, endpoint, table) + query(random);
  const hasBody = endpoint.body !== undefined ? !random.chance(4) : random.chance(8);
  const body = hasBody && method !== 'TRACE' ? spoiltText(random, bodyText(random, endpoint, table)) : undefined;
  const sent = headers(random, body !== undefined);
  // Each revoked token means a new login, and until then every request is refused early.
  if (/^\/(tokens|session)/.test(endpoint.path) && method === 'DELETE' && !random.chance(5))
    delete sent['X-Auth-Token'];
  return { method, path: path.slice(0, 70_000), headers: sent, body };
}

function spoiltPath(random: Random, endpoint: Endpoint, table: string): string {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const text = segment(random, name, endpoint, table);
    // Spoilt, a secret would no longer stand where a secret belongs, and an error may show what it is about.
    return text.includes(secretMark) ? encodeURIComponent(text) : encoded(random, text);
  });
  if (random.chance(97)) return path;
  return random.pick([
    `${path}/`,
    `/${path}`,
    `${path}/extra`,
    path.replace('/', '/../'),
    path.toUpperCase(),
    `${path}%2f`,
    '',
    '/health',
    '/docs',
    '/manual',
    '/manual/security',
    '/manual/search?q=bmc',
  ]);
}

function segment(random: Random, name: string, endpoint: Endpoint, table: string): string {
  if (random.chance(4)) return random.pick(hostileNames);
  switch (name) {
    case 'noderange':
      if (random.chance(3)) return random.pick(secretRanges);
      if (random.chance(30)) return random.pick(hostileRanges);
      return random.chance(80)
        ? `n${1 + random.number(60)}`
        : `${random.pick(hostileRanges)},${random.pick(hostileRanges)}`;
    case 'groupname':
      return random.pick(['compute', 'dyn', `g${random.number(20)}`, 'all', 'n1', `g${random.number(20)},compute`]);
    case 'policy_priority':
      // Rules before the first one could take root's rights away, and then nothing deep would be reached.
      return random.pick([
        `${2 + random.number(9)}.${random.number(9)}`,
        '1.5',
        '7,8',
        '6.1.2.3',
        '1e3',
        '-1',
        '9'.repeat(400),
      ]);
    case 'attributes':
    case 'attribute':
      return random.times(3, () => attributeName(random, typeOf(endpoint))).join(random.pick([',', ';', '']));
    case 'tablelist':
      return random.chance(90) ? table : `${table},${random.pick(tableNames)}`;
    case 'attrlist':
      return random.times(3, () => random.pick(columnsOf(random, table))).join(',');
    case 'keys':
      return rowKeys(random, table);
    case 'id':
      return random.pick(['0b1ef7f5-6a6c-4c0e-9a51-1f7d7f1c5c11', '0', '__proto__']);
    default:
      return `o${random.number(20)}`;
  }
}

const typeOf = ({ path }: Endpoint): string => typeOfCollection[path.split('/')[1]!] ?? 'node';

const columnsOf = (random: Random, table: string): readonly string[] =>
  tables.get(table)?.columns ?? [random.pick(hostileNames)];

function rowKeys(random: Random, table: string): string {
  // The account the run uses stays as it is.
  if (table === 'passwd')
    return random.pick([...secretKeys, 'key=system', 'key=xcat,username=u1', 'key=hmc,username=x']);
  if (table === 'policy') return `priority=${2 + random.number(9)}`;
  if (random.chance(5)) return random.pick(secretKeys);
  const keys = tables.get(table)?.keys ?? ['key'];
  const pair = (column: string): string =>
    `${column}=${random.chance(70) ? `n${random.number(30)}` : textValue(random)}`;
  return (random.chance(80) ? keys : [random.pick(columnsOf(random, table))]).map(pair).join(',');
}

function textValue(random: Random): string {
  const value = random.pick(hostileValues);
  return typeof value === 'string' && value.length < 300 ? value : random.pick(hostileNames).slice(0, 300);
}

function attributeName(random: Random, type: string): string {
  const known = [...objectTypes.get(type)!.attributes.keys()];
  if (type === 'site') known.push('domain', 'excludenodes', 'hierarchicalattrs', 'hashlogin', 'tokenexpiredays');
  const how = random.number(100);
  if (how < 92) return random.pick(known);
  if (how < 97)
    return random.pick(['nicips.eth0', 'nicips.', 'nicnetworks.eth0', 'nic.x', 'nicips.eth0.1', 'nicips.__proto__']);
  return random.pick(hostileNames);
}

const isSecretName = (name: string): boolean =>
  [...objectTypes.values()].some((type) =>
    type.attributes.get(name)?.at.some(({ table, column }) => tables.get(table)?.secret.has(column)),
  );

function attributeValue(random: Random, name: string): unknown {
  if (isSecretName(name) && !random.chance(20)) return `${secretMark}-${random.number(1_000)}`;
  if (name === 'wherevals' && random.chance(40)) return random.pick(secretSelections);
  // A site whose range excludes everybody or whose logins are off would only make the run shallow.
  if (name === 'excludenodes') return random.pick(['noname', 'n60', '(((', 'n[1-999999999]', '/(x+x+)+y', '']);
  if (random.chance(45)) return `v${random.number(50)}`;
  return random.chance(80) ? random.pick(hostileValues) : random.pick(hostileNames);
}

type Members = [name: string, value: unknown][];

function attributes(random: Random, type: string): Members {
  const members: Members = random.times(4, () => {
    const name = attributeName(random, type);
    return [name, attributeValue(random, name)];
  });
  if (random.chance(70) && type === 'node')
    members.push(['groups', random.pick(['all', 'all,compute', 'compute', ['all']])]);
  if (type === 'network' && random.chance(60)) {
    members.push(['net', `10.${random.number(200)}.0.0`], ['mask', '255.255.0.0']);
  }
  if (type === 'policy') members.push(['name', random.pick(['u1', 'u2', '__proto__', 'nobody'])]);
  if (random.chance(15)) members.push(['options', options(random)]);
  return members;
}

function options(random: Random): unknown {
  const given = random.times(2, (): [string, unknown] => [
    random.pick(['-p', '-m', '-f', '--template', '-d', '-w', '-o', '-t', '--plus', '-z', '__proto__', 'toString']),
    random.pick<unknown>([
      '',
      '1',
      'switch-template',
      'n1',
      'mgt==ipmi',
      1,
      null,
      true,
      [],
      ['a', 'b'],
      {},
      [{ toString: 1 }],
      { toString: '' },
    ]),
  ]);
  return random.chance(90) ? Object.fromEntries(given) : random.pick(hostileValues);
}

const columns = (random: Random, table: string): Members =>
  random.times(4, () => {
    const column = random.chance(96) ? random.pick(columnsOf(random, table)) : random.pick(hostileNames);
    const secret = tables.get(table)?.secret.has(column);
    if (secret && !random.chance(20)) return [column, `${secretMark}-${random.number(1_000)}`];
    if (table === 'policy' && column === 'name') return [column, 'u3'];
    return [column, attributeValue(random, column)];
  });

/** JSON written by hand, since an object cannot hold a member twice, or `__proto__` as itself. */
function json(random: Random, members: Members): string {
  const all = [...members];
  if (random.chance(5)) all.push([random.pick(jsonKeys), random.pick(hostileValues)]);
  if (random.chance(5) && all.length > 0) all.push([random.pick(all)[0], random.pick(hostileValues)]);
  if (random.chance(4))
    all.push([
      random.pick(['dryRun', 'dryrun', 'dry-run', 'dry_run', 'DRYRUN']),
      random.pick<unknown>([1, '1', true, 0, '', {}, { toString: 1 }, null]),
    ]);
  if (random.chance(4))
    all.push([
      random.pick(['pretty', 'debug', 'xcoll', 'ver', 'userName', 'userPW']),
      random.pick<unknown>([1, '1', '1.0', {}, [], true, null]),
    ]);
  if (random.chance(2)) all.push(['userPW', `${secretMark}-pw`]);
  return `{${all.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`;
}

function bodyText(random: Random, endpoint: Endpoint, table: string): string {
  const { path, method } = endpoint;
  if (path === '/tokens') {
    if (random.chance(70))
      return json(random, [
        ['userName', 'root'],
        ['userPW', rootPassword],
      ]);
    // Always another account: one that fails again and again is made to wait, and the run with it.
    const names = [stranger(random), stranger(random), '__proto__', {}, []];
    return json(random, [
      ['userName', random.pick<unknown>(names)],
      ['userPW', `${secretMark}-pw`],
    ]);
  }
  if (path.startsWith('/tables')) {
    if (!path.includes('{noderange}')) return json(random, columns(random, table));
    const inner = random.times(2, () => `${JSON.stringify(table)}:${json(random, columns(random, table))}`);
    return `{${inner.join(',')}}`;
  }
  if (path.endsWith('/rename'))
    return json(random, [['newNode', random.pick([`n${60 + random.number(40)}`, ...hostileNames, 1, {}])]]);
  if (path.startsWith('/templates'))
    return json(random, [['options', { '--template': random.pick(['switch-template', 'n1', ...hostileNames]) }]]);
  if (method === 'PUT' && !path.includes('{')) {
    const names = random.times(4, () => (random.chance(90) ? `n${random.number(60)}` : random.pick(hostileNames)));
    const definitions = names.map(
      (name) => `${JSON.stringify(name)}:${json(random, attributes(random, typeOf(endpoint)))}`,
    );
    return `{${definitions.join(',')}}`;
  }
  return json(random, attributes(random, typeOf(endpoint)));
}

const stranger = (random: Random): string => `user${random.number(100_000)}`;

function spoiltText(random: Random, text: string): string | Buffer {
  const how = random.number(100);
  if (how < 88) return text;
  if (how < 91) return text.slice(0, random.number(text.length));
  if (how < 93) return `${text}${random.pick(['}', ',', '\u0000', 'x', '[]'])}`;
  if (how < 95)
    return Buffer.concat([Buffer.from(text.slice(0, 2)), Buffer.from([0xff, 0xfe, 0xc0]), Buffer.from(text.slice(2))]);
  if (how < 97) return `{"a":${'['.repeat(random.pick([30, 31, 32, 10_000]))}`;
  return random.pick([
    '',
    'null',
    '[]',
    '"x"',
    '1',
    'true',
    '\ufeff{}',
    'a=b&c=d',
    '{"a":1e999}',
    '{"a":"\\ud800"}',
    "{'a':1}",
    ' ',
    '{"a":"\u0001"}',
  ]);
}

function query(random: Random): string {
  if (random.chance(75)) return '';
  const parts = [
    'pretty=1',
    'pretty=0',
    'debug=1',
    'xcoll=1',
    'ver=1.0',
    'ver=%00',
    'dryRun=1',
    'dryRun=1',
    'dryRun=0',
    'dryrun=1',
    'dry-run=1',
    'DryRun=true',
    'dryRun',
    `userName=${stranger(random)}&userPW=${secretMark}-pw`,
    'userName=%F0%9F%92%A5',
    '__proto__=1',
    'x=%ZZ',
    '&&&',
    '=',
    `pretty=${'1'.repeat(5_000)}`,
  ];
  return `?${Array.from({ length: 1 + random.number(3) }, () => random.pick(parts)).join('&')}`;
}

function headers(random: Random, hasBody: boolean): Record<string, string> {
  const all: Record<string, string> = {};
  const who = random.number(100);
  if (who < 95) all['X-Auth-Token'] = goodToken;
  else if (who < 98)
    all['X-Auth-Token'] = random.pick([`${secretMark}-token`, '', 'x'.repeat(10_000), '__proto__', '%0d%0a']);
  if (hasBody) {
    all['Content-Type'] = random.chance(92)
      ? 'application/json'
      : random.pick([
          'text/plain',
          '',
          'application/x-www-form-urlencoded',
          'multipart/form-data; boundary=x',
          'a/b/c',
          'application/json; charset=utf-16',
          ';',
        ]);
  }
  if (random.chance(20)) {
    all['Accept'] = random.pick([
      'application/x-ndjson',
      'application/json',
      '*/*',
      'text/html',
      '',
      'application/x-ndjson;q=0.5, application/json;q=0.4',
      'a;q=NaN',
      ',,,',
      'application/json;q=0',
      'x'.repeat(5_000),
    ]);
  }
  if (random.chance(4))
    all['X-Expect-Nodes'] = random.pick(['1', '0', '-1', '1e3', '99999999999999999999', 'NaN', '', '5']);
  // A revision that is still to come is waited for: only a few, they cost seconds.
  if (random.chance(3))
    all['X-Muster-Revision'] = random.chance(3)
      ? '999999999999999'
      : random.pick(['1', '0', '-1', 'x', '1.5', '9999999999999999999']);
  if (random.chance(3)) all['If-None-Match'] = random.pick(['*', '"x"', 'W/"x"', ',', '"'.repeat(1_000)]);
  if (random.chance(1)) all['Expect'] = random.pick(['200-ok', 'x']);
  if (random.chance(2)) all['X-Forwarded-For'] = '127.0.0.1%0d%0aX: y';
  return all;
}
