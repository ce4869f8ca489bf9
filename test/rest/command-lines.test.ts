import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client, type SentRequest } from '../../src/cli/client.ts';
import type { Invocation } from '../../src/cli/command.ts';
import { commands } from '../../src/cli/commands/index.ts';
import type { Output } from '../../src/cli/output.ts';
import { findPlaces } from '../../src/cli/places.ts';
import { commandLines, rowName } from '../../src/rest/describe/command-lines.ts';
import type { Endpoint } from '../../src/rest/endpoints/endpoint.ts';
import { endpoints } from '../../src/rest/endpoints/index.ts';
import { environmentFor, program } from '../cli/command-line.ts';
import { exampleRows } from '../harness/example-rows.ts';
import { atTerminal, muster } from '../harness/muster-command.ts';
import { resetTo } from '../harness/reset.ts';
import { rootPassword, startServer, type TestServer } from '../harness/server.ts';

interface Expected extends Omit<SentRequest, 'method'> {
  readonly method: string;
  /** Why it is another request than the example's. */
  readonly because?: string;
}

const site = (attributes: object) => ({ definitions: [{ type: 'site', names: 'clustersite', attributes }] });
const definitions = 'commands on definitions have endpoints of their own';
const columns = 'columns of nodes have an endpoint of their own';
const dump = 'tabdump reads whole tables, and chooses rows itself';

/** Requests that are not those of the examples, by endpoint. */
const elsewhere: Readonly<Record<string, Expected>> = {
  'PUT /nodes/{noderange}/rename': {
    method: 'PUT',
    at: '/definitions/node/n1/rename',
    body: { name: 'node1' },
    because: definitions,
  },
  'POST /policy/{policy_priority}': {
    method: 'PUT',
    at: '/definitions',
    body: {
      definitions: [
        { type: 'policy', names: '6.1', attributes: { name: 'operator', commands: 'lsdef,nodels', rule: 'allow' } },
      ],
    },
    because: 'the endpoint runs chdef as well',
  },
  'GET /globalconf': { method: 'GET', at: '/definitions/site/ALLRESOURCES', because: definitions },
  'GET /globalconf/attrs/{attributes}': {
    method: 'GET',
    at: '/definitions/site/ALLRESOURCES/attrs/domain',
    because: definitions,
  },
  'PUT /globalconf/attrs/{attributes}': {
    method: 'PUT',
    at: '/definitions',
    body: site({ domain: 'cluster.example' }),
    because: definitions,
  },
  'DELETE /globalconf/attrs/{attributes}': {
    method: 'PUT',
    at: '/definitions',
    body: site({ domain: '' }),
    because: definitions,
  },
  'PUT /nodes/{noderange}/sp/{attribute}': {
    method: 'PUT',
    at: '/nodes/n1/sp/community',
    body: { community: 'private' },
    because: 'the body may name the setting, or give its value alone',
  },
  'POST /discovery': {
    method: 'POST',
    at: '/discovery',
    body: { noderange: 'compute' },
    because: 'by order is the only way',
  },
  'DELETE /discovery': { method: 'DELETE', at: '/discovery', because: 'the command closes all ranges, as it says' },
  'POST /nodes/{noderange}/nodeshell': {
    method: 'POST',
    at: '/nodes/n1,n2/nodeshell',
    body: { command: "export LANG=C; uname -r; echo 'two  blanks'" },
    because: 'xdsh sends one text for the shell',
  },
  'POST /nodes/{noderange}/filesyncing': {
    method: 'POST',
    at: '/nodes/n1,n2/filesyncing',
    because: 'an empty body and none are the same',
  },
  'GET /tables/{tablelist}/nodes/ALLNODES': { method: 'GET', at: '/nodes/all/columns/nodetype', because: columns },
  'GET /tables/{tablelist}/nodes/ALLNODES/{attrlist}': {
    method: 'GET',
    at: '/nodes/all/columns/nodetype.arch',
    because: columns,
  },
  'GET /tables/{tablelist}/nodes/{noderange}': { method: 'GET', at: '/nodes/n1/columns/nodetype', because: columns },
  'GET /tables/{tablelist}/nodes/{noderange}/{attrlist}': {
    method: 'GET',
    at: '/nodes/n1/columns/nodetype.arch',
    because: columns,
  },
  'PUT /tables/{tablelist}/nodes/{noderange}': {
    method: 'PUT',
    at: '/nodes/n1/columns',
    body: { set: { 'nodetype.arch': 'x86_64', 'noderes.netboot': 'xnba' } },
    because: columns,
  },
  'GET /tables/{tablelist}/rows/ALLROWS': { method: 'GET', at: '/tables/routes/dump', because: dump },
  'GET /tables/{tablelist}/rows/ALLROWS/{attrlist}': { method: 'GET', at: '/tables/routes/dump', because: dump },
  'GET /tables/{tablelist}/rows': { method: 'GET', at: '/tables/routes/dump', because: dump },
  'GET /tables/{tablelist}/rows/{keys}': { method: 'GET', at: '/tables/routes/dump', because: dump },
  'GET /tables/{tablelist}/rows/{keys}/{attrlist}': {
    method: 'GET',
    at: '/tables/routes/rows/routename=lab',
    because: 'gettab chooses columns itself',
  },
};

/** Those that are no requests, or have no --curl: they are run as they are below. */
const run = ['POST /tokens', 'DELETE /tokens', 'GET /services/sshkey', 'GET /events'];

/** Those that do not end silently here, and why. */
const complains: Readonly<Record<string, string>> = {
  'GET /policy/explain': 'the exit status says that the account may not',
  'GET /osimages/{imgname}/instance': 'nothing is built here',
  'GET /osimages/{imgname}/check': 'nothing is built here',
  'GET /services/checkbmcauth/{address}/{account}': 'there is no BMC here',
  'GET /changes': 'it says that there are more',
  'GET /nodes/{noderange}/series': 'nobody has read the sensors here',
};

const types: Readonly<Record<string, string>> = {
  nodes: 'node',
  osimages: 'osimage',
  networks: 'network',
  policy: 'policy',
  groups: 'group',
};

/** The request that a line has to send: the example's, or for definitions the one that says the same there. */
function expectedOf(row: Endpoint): Expected {
  const { method, path, example } = row;
  const known = elsewhere[rowName(row)];
  if (known) return known;
  const { body, query } = example;
  const same = { method, at: example.path, body, query };
  const [, collection = '', one, attributes] = /^\/(\w+)(\/\{\w+\})?(\/attrs\/\{\w+\})?$/.exec(path) ?? [];
  const type = types[collection];
  // Those that ask the collection itself.
  if (type === undefined || ['GET /nodes', 'DELETE /nodes/{noderange}'].includes(rowName(row))) return same;
  if (['POST /osimages', 'POST /networks'].includes(rowName(row))) return same;
  const [, , name = '', , attribute = ''] = example.path.split('/');
  if (method === 'GET') {
    const at = ['/definitions', type, ...(one ? [name] : []), ...(attributes ? ['attrs', attribute] : [])].join('/');
    return { method, at };
  }
  if (method === 'DELETE') return { method, at: '/definitions', body: { definitions: [{ type, names: name }] } };
  const written = one ? { [name]: body } : (body as object);
  return {
    method,
    at: '/definitions',
    body: { definitions: Object.entries(written).map(([names, given]) => ({ type, names, attributes: given })) },
  };
}

const nowhere = (lines: string[]): Output => ({
  write: (text) => void lines.push(text),
  line: (text) => void lines.push(text),
  draw: () => undefined,
  flush: () => Promise.resolve(),
});

/** Commands look for a kit before they send the request that removes it. */
const kitRows = {
  kit: [{ kitname: 'tools-1.0-1', basename: 'tools', version: '1.0' }],
  kitcomponent: [{ kitcompname: 'tools-compute', kitname: 'tools-1.0-1', basename: 'tools-compute', version: '1.0' }],
};

/** The run that examples show. */
const exampleRun = /0b1ef7f5-\S+/;

let server: TestServer;
let home: string;
let environment: Record<string, string>;
const before = process.cwd();
beforeAll(async () => {
  server = await startServer();
  await resetTo(server, { ...exampleRows, ...kitRows });
  home = join(server.data, 'home');
  mkdirSync(home);
  writeFileSync(join(home, 'motd'), 'Welcome\n');
  writeFileSync(join(home, 'bios-1.50.bin'), 'an image\n');
  process.chdir(home);
  environment = environmentFor(server, home);
});
afterAll(async () => {
  process.chdir(before);
  await server.stop();
});

interface Call {
  readonly words: readonly string[];
  readonly input: string;
}

/** The words that a shell makes of each line, and what stands on standard input, for each call of muster in it. */
function callsOf(lines: readonly string[]): Call[][] {
  const ended = lines.map((line) => `(\n${line}\n)\nprintf '\\3'\n`);
  const script = `muster() { printf '%s\\0' "$@"; printf '\\1'; cat; printf '\\2'; }\n${ended.join('')}`;
  const output = execFileSync('bash', ['-ec', script], { input: '', encoding: 'utf8', cwd: home });
  const partsOf = (text: string, end: string): string[] => text.split(end).slice(0, -1);
  return partsOf(output, '\u0003').map((line) =>
    partsOf(line, '\u0002').map((call) => {
      const [words = '', input = ''] = call.split('\u0001');
      return { words: partsOf(words, '\0'), input };
    }),
  );
}

const wordsOf = (line: string): readonly string[] => callsOf([line])[0]![0]!.words;

/** What a call would send, as --curl shows it. */
async function sentBy({ words, input }: Call) {
  const [name = '', ...argv] = words;
  const client = new Client(() => findPlaces(environment));
  const said: string[] = [];
  const invocation: Invocation = {
    name,
    isMuster: commands[name]!.isMuster === true,
    argv: ['--curl', ...argv],
    env: environment,
    stdin: { text: () => Promise.resolve(input), async *lines() {} },
    stdout: nowhere([]),
    stderr: nowhere(said),
    terminal: { stdin: false, stdout: false, stderr: false, columns: 80, colour: false },
    client,
    signal: new AbortController().signal,
  };
  const command = await commands[name]!.load();
  let failure: unknown;
  const code = await command.run(invocation).catch((error: unknown) => {
    failure = error;
    return 1;
  });
  client.close();
  return { code, failure, said, requests: client.requests };
}

const matches = ({ method, at, body, query }: SentRequest, expected: Expected): boolean => {
  const isFor = (wanted: unknown, found: unknown): boolean => {
    try {
      expect(found).toMatchObject(wanted as object);
      return true;
    } catch {
      return false;
    }
  };
  const path = decodeURIComponent(at);
  // Of nodes it has to be known whether they are hidden.
  const there = decodeURIComponent(expected.at);
  const isThere = path === there || path === `${there},hidden`;
  return (
    method === expected.method &&
    isThere &&
    (expected.body === undefined || isFor(expected.body, body)) &&
    (expected.query === undefined || isFor(expected.query, query))
  );
};

describe('the command line of an example', () => {
  it('is there for every endpoint, or null, and for nothing else', () => {
    expect(Object.keys(commandLines).sort()).toEqual(endpoints.map(rowName).sort());
    for (const name of [...Object.keys(elsewhere), ...run, ...Object.keys(complains)])
      expect(commandLines[name], name).toEqual(expect.any(String));
  });

  const rows = endpoints
    .filter((row) => typeof commandLines[rowName(row)] === 'string' && !run.includes(rowName(row)))
    .map((row) => [rowName(row), row] as const);

  let id: string;
  const calls = new Map<string, Call[]>();
  beforeAll(async () => {
    id = String((await server.call('GET', '/nodes')).headers['x-muster-run']);
    const lines = rows.map(([name]) => commandLines[name]!.replace(exampleRun, id));
    for (const [i, each] of callsOf(lines).entries()) calls.set(rows[i]![0], each);
  });

  it.each(rows)('does what %s does', async (name, row) => {
    const line = commandLines[name]!;
    expect(calls.get(name), line).toHaveLength(1);
    const { code, failure, said, requests } = await sentBy(calls.get(name)![0]!);
    const wanted = expectedOf(row);
    const expected = { ...wanted, at: wanted.at.replace(exampleRun, id) };
    expect(
      requests.filter((request) => matches(request, expected)),
      JSON.stringify({ line, said, failure: String(failure), requests, expected }),
    ).toHaveLength(1);
    if (complains[name] === undefined) expect([code, said, failure]).toEqual([0, [], undefined]);
  });

  it('logs in and out', async () => {
    const url = `https://127.0.0.1:${server.port}`;
    const login = wordsOf(commandLines['POST /tokens']!.replace('https://HOST:8443', url));
    const { MUSTER_TOKEN: _, MUSTER_URL: _url, ...others } = environment;
    const { code, screen } = await atTerminal(login, others, [['Password of root', `${rootPassword}\n`]]);
    expect([code, screen]).toEqual([0, expect.stringContaining(`Logged in to 127.0.0.1:${server.port} as root`)]);
    const left = await program(muster, wordsOf(commandLines['DELETE /tokens']!), others);
    expect(left).toEqual({ code: 0, stdout: `Logged out of 127.0.0.1:${server.port}.\n`, stderr: '' });
  });

  it('shows the key of the service, and events', async () => {
    const key = await program(muster, wordsOf(commandLines['GET /services/sshkey']!), {
      ...environment,
      MUSTER_DATA: server.data,
    });
    expect([key.stdout.trim()]).toEqual(await server.ok('GET', '/services/sshkey'));
    const events = await program(muster, wordsOf(commandLines['GET /events']!), environment);
    expect(events.code).toBe(0);
  });
});
