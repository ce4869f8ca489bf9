import { readdirSync, readFileSync } from 'node:fs';
import type { Agent } from 'node:https';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { processorTime } from '../harness/processes.ts';
import { queryOutside } from '../harness/raw-sqlite.ts';
import { type FuzzRequest, goodToken, makeRequest } from './fuzz-requests.ts';
import { secretMark } from './hostile.ts';
import {
  agentFor,
  call,
  callJson,
  login,
  type Reply,
  removeDirectory,
  rootPassword,
  type Service,
  startService,
  stopService,
  temporaryDirectory,
} from './process.ts';
import { Random } from './random.ts';

/** For a long look: MUSTER_FUZZ_REQUESTS=50000 MUSTER_FUZZ_SEED=7 npm test -- test/process/fuzz */
const count = Number(process.env['MUSTER_FUZZ_REQUESTS'] ?? 1_000);
const seed = Number(process.env['MUSTER_FUZZ_SEED'] ?? 1);
const concurrency = 16;
/** Seconds of processor time: one request must not keep all others waiting. */
const longestStall = 2;

const data = temporaryDirectory();
let service: Service;
let token: string;
let agent: Agent;

/** Secrets of every kind that a cluster holds, all with the mark. */
const planted: [path: string, body: unknown][] = [
  ['/groups/compute', { mgt: 'ipmi', bmcusername: 'admin', bmcpassword: `${secretMark}-bmc` }],
  ['/nodes/n1', { bmcpassword: `${secretMark}-bmc-n1` }],
  ['/tables/passwd/rows/key=system,username=root', { password: `${secretMark}-system` }],
  ['/tables/passwd/rows/key=xcat,username=u1', { password: `${secretMark}-account` }],
  [
    '/tables/switches/rows/switch=n2',
    { password: `${secretMark}-snmp`, sshpassword: `${secretMark}-ssh`, auth: 'sha', privacy: `${secretMark}-priv` },
  ],
  ['/tables/pdu/rows/node=n3', { community: `${secretMark}-community`, authkey: `${secretMark}-authkey` }],
  ['/tables/prodkey/rows/node=n4', { product: 'x', key: `${secretMark}-key` }],
  // Generated requests may give others full rights and then change root's own rule; they do not guess this one.
  ['/policy/0.271828', { name: 'root', rule: 'allow' }],
];

beforeAll(async () => {
  service = await startService(data);
  agent = agentFor(service, { maxSockets: concurrency });
  token = await login(service, agent);
  const put = async (method: string, path: string, body: unknown): Promise<void> => {
    const reply = await callJson(service, agent, token, method, `/muster${path}`, body);
    expect([path, reply.status, reply.body]).toEqual([path, method === 'POST' ? 201 : 200, '']);
  };
  await put('POST', '/nodes/n[1-40]', { groups: 'all,compute', mgt: 'ipmi', usercomment: `${'x'.repeat(500)}z` });
  await put('POST', '/groups/dyn', { grouptype: 'dynamic', wherevals: 'mgt==ipmi' });
  for (const [path, body] of planted) await put('PUT', path, body);
});

afterAll(async () => {
  agent.destroy();
  await stopService(service);
  removeDirectory(data);
});

const fill = (request: FuzzRequest): FuzzRequest => ({
  ...request,
  headers:
    request.headers['X-Auth-Token'] === goodToken ? { ...request.headers, 'X-Auth-Token': token } : request.headers,
});

/** The only rows that set a cookie. */
const ofSessions = /^\/+(muster|xcatws)\/+session\/?(\?|$)/;

/** What is wrong with a reply; nothing if all is well. */
function complaint({ method, path }: FuzzRequest, { status, headers, rawHeaders, body }: Reply): string | undefined {
  if (status === 500 || status < 200) return 'status';
  if (status === 503 && body.includes('Something went wrong inside')) return 'a bug of ours';
  if (rawHeaders.some((text) => /injected/i.test(text) || /[\r\n]/.test(text))) return 'an injected header';
  const cookies = headers['set-cookie'] ?? [];
  if (cookies.length > (ofSessions.test(path) ? 1 : 0)) return 'a cookie';
  // An unknown path is shown to whoever sent it.
  const own = body.replace(/There is nothing at [^"]*/, '');
  if (containsSecret(own) || containsSecret(rawHeaders.join('\n'), method === 'POST')) return 'a secret';
  if (method === 'HEAD' || body === '') return undefined;
  if (headers['content-type']?.startsWith('text/html'))
    return /\/(docs|manual(\/.*)?)(\?|$)/.test(path) ? undefined : 'a page';
  if (status >= 400) return isErrorBody(body) ? undefined : 'not the form of an error';
  if (headers['content-type']?.startsWith('text/plain')) return /\/metrics\/?(\?|$)/.test(path) ? undefined : 'a text';
  const texts = headers['content-type'] === 'application/x-ndjson' ? body.trimEnd().split('\n') : [body];
  return texts.every(isJson) ? undefined : 'no JSON';
}

const containsSecret = (text: string, newToken = false): boolean =>
  text.includes(secretMark) || text.includes(rootPassword) || (!newToken && text.includes(token));

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isErrorBody(text: string): boolean {
  if (!isJson(text)) return false;
  const { error, errorcode, ...rest } = JSON.parse(text) as Record<string, unknown>;
  const sentences =
    Array.isArray(error) && error.length > 0 && error.every((each) => typeof each === 'string' && each !== '');
  return sentences && typeof errorcode === 'number' && Object.keys(rest).length === 0;
}

/** Asks for the health of the server all the time; answers how many seconds the server worked, at most, before it answered. */
async function watchHealth(until: () => boolean): Promise<number> {
  const own = agentFor(service, { maxSockets: 1 });
  let longest = 0;
  while (!until()) {
    const before = processorTime(service.process.pid!);
    const reply = await call(service, own, 'GET', '/muster/health');
    if (reply.status !== 200) throw new Error(`health ${reply.status}`);
    longest = Math.max(longest, processorTime(service.process.pid!) - before);
    await setTimeout(20);
  }
  own.destroy();
  return longest;
}

/** Revoking tokens is among the requests; a new one is got from another address, which bad logins have not slowed down. */
async function renewToken(): Promise<void> {
  const other = agentFor(service, { localAddress: '127.0.0.2', maxSockets: 1 });
  const check = await callJson(service, other, token, 'GET', '/muster/tokens');
  if (check.status === 401) token = await login(service, other);
  other.destroy();
}

const shown = ({ method, path, headers, body }: FuzzRequest): string =>
  `${method} ${path.slice(0, 400)} ${JSON.stringify(headers).slice(0, 400)} ${String(body).slice(0, 1_000)}`;

test(`${count} generated requests never meet a bug of ours, a long wait or a secret`, {
  timeout: 7_200_000,
}, async () => {
  const random = new Random(seed);
  const complaints: string[] = [];
  const statuses = new Map<number, number>();
  let sent = 0;
  let renewal: Promise<void> | undefined;
  const worker = async (): Promise<void> => {
    while (sent < count && complaints.length < 20) {
      sent++;
      const request = fill(makeRequest(random));
      let reply: Reply;
      try {
        reply = await call(service, agent, request.method, request.path, request);
      } catch (error) {
        complaints.push(`${String(error)}: ${shown(request)}`);
        continue;
      }
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
      const problem = complaint(request, reply);
      if (problem !== undefined)
        complaints.push(`${problem}: ${shown(request)} -> ${reply.status} ${reply.body.slice(0, 600)}`);
      if (reply.status === 401 && request.headers['X-Auth-Token'] === token) {
        await (renewal ??= renewToken().finally(() => (renewal = undefined)));
      }
    }
  };
  let done = false;
  const watching = watchHealth(() => done);
  await Promise.all(Array.from({ length: concurrency }, worker)).finally(() => (done = true));
  const longest = await watching;
  expect(complaints, `seed ${seed}`).toEqual([]);
  expect(service.process.exitCode).toBeNull();
  expect(longest, `seed ${seed}: the longest wait for an answer about the health`).toBeLessThan(longestStall);
  // Most requests must get past the checks of form, or the run would show little.
  const deep = [200, 201, 403, 404, 417].reduce((sum, status) => sum + (statuses.get(status) ?? 0), 0);
  expect(deep / count).toBeGreaterThan(0.5);
  expect(((statuses.get(200) ?? 0) + (statuses.get(201) ?? 0)) / count).toBeGreaterThan(0.15);
});

test('afterwards no secret is in the log, in the audit log or in clear text on disk', async () => {
  const audit = await callJson(service, agent, token, 'GET', '/muster/tables/auditlog/rows/ALLROWS');
  expect(audit.status).toBe(200);
  expect(audit.body).toContain('chdef');
  const places: [string, string][] = [
    ['log', service.log()],
    ['audit log', audit.body],
    ...readdirSync(data, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }): [string, string] => [name, readFileSync(join(data, name), 'latin1')]),
  ];
  expect(places.map(([name]) => name)).toContain('muster.sqlite-wal');
  for (const [name, text] of places) {
    const at = [secretMark, rootPassword, token].map((secret) => text.indexOf(secret)).find((found) => found >= 0);
    expect([name, at === undefined ? undefined : text.slice(Math.max(0, at - 300), at + 100)]).toEqual([
      name,
      undefined,
    ]);
  }
});

test('afterwards the server starts on what is left and lists it', async () => {
  expect(await stopService(service)).toBe(0);
  service = await startService(data);
  agent.destroy();
  agent = agentFor(service);
  for (const collection of ['nodes', 'osimages', 'networks', 'policy', 'groups']) {
    const reply = await callJson(service, agent, token, 'GET', `/muster/${collection}/ALLRESOURCES`);
    expect([collection, reply.status, typeof JSON.parse(reply.body)]).toEqual([collection, 200, 'object']);
  }
  expect(queryOutside(join(data, 'muster.sqlite'), 'pragma integrity_check')).toEqual([{ integrity_check: 'ok' }]);
});
