import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { environmentFor, muster, program } from '../cli/command-line.ts';
import { EventClient } from '../harness/events.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { define, labNode } from './nodes.ts';

let lab: RedfishLab;
let server: TestServer;
const data = temporaryDirectory();
const config = '[powerBudgets]\nseconds = 10\n';
const nodes = ['b1', 'b2', 'b3'] as const;

beforeAll(async () => {
  // Odd ones report the range of the limit.
  lab = await startRedfish({ count: 6, prefix: '127.63', kinds: ['plain'] });
  server = await startServer({ data, config });
  await define(
    server,
    Object.fromEntries(
      nodes.map((name, index) => [name, labNode('redfish', lab.addresses[2 * index + 1]!, { groups: 'all,rack' })]),
    ),
  );
  await define(server, { bare: { groups: 'all' }, gone: labNode('redfish', '127.63.99.99') });
  await server.ok('PUT', '/nodes/b1', { groups: 'all,rack' });
}, 60_000);
afterAll(async () => {
  await Promise.all([server?.stop(), lab?.stop()]);
  rmSync(data, { recursive: true, force: true });
});

const waitFor = (holds: () => Promise<boolean>): Promise<boolean> =>
  vi.waitUntil(holds, { timeout: 60_000, interval: 100 });
const limits = () => Promise.all(nodes.map(async (_, index) => (await lab.state(2 * index + 1)).limit));
const capped = async (most: number): Promise<boolean> => {
  const all = await limits();
  return all.every(({ active }) => active) && all.reduce((sum, { watts }) => sum + watts, 0) <= most;
};

it('shows how watts would be spread, and changes nothing', async () => {
  await server.ok('PUT', '/nodes/b1/power', { action: 'on' });
  const before = await limits();
  const plan = await server.ok('GET', '/powerbudgets/new?watts=900&noderange=rack');
  expect(plan).toMatchObject({ watts: 900, held: true, problems: [] });
  const caps = nodes.map((node) => plan.nodes[node].cap as number);
  expect(caps.reduce((sum, cap) => sum + cap)).toBeLessThanOrEqual(900);
  // One that is on draws more, and gets more.
  expect(caps[0]).toBeGreaterThan(caps[1]!);
  expect(await limits()).toEqual(before);
});

it('caps the nodes of a group within the watts, and says so', async () => {
  await server.ok('PUT', '/powerbudgets/rack', { watts: 900 });
  await waitFor(() => capped(900));
  await waitFor(async () => (await server.ok('GET', '/powerbudgets/rack')).held === true);
  expect(await server.ok('GET', '/powerbudgets')).toMatchObject({ powerbudgets: { rack: { watts: 900, held: true } } });
}, 90_000);

it('follows a smaller budget, and says when nodes cannot be capped that low', async () => {
  const client = await EventClient.open(server, { query: { kinds: 'notice' } });
  await client.ready();
  await server.ok('PUT', '/powerbudgets/rack', { watts: 100 });
  const { data: said } = await client.event(({ message }) => /cannot be held/.test(message as string));
  expect(said.message).toMatch(/The power budget rack cannot be held: 50 W are missing/);
  client.close();
  // Never below the least of the node.
  await waitFor(() => capped(150));
  expect((await limits()).map(({ watts }) => watts)).toEqual([50, 50, 50]);
  await server.ok('PUT', '/powerbudgets/rack', { watts: 600 });
  await waitFor(async () => (await server.ok('GET', '/powerbudgets/rack')).held === true);
}, 90_000);

it('gives the limits of before back after it was removed, though muster was killed meanwhile', async () => {
  await waitFor(() => capped(600));
  await server.kill();
  server = await startServer({ data, config });
  await server.ok('DELETE', '/powerbudgets/rack');
  await waitFor(async () => (await limits()).every(({ active }) => !active));
  await waitFor(async () => (await server.call('GET', '/tables/powercap/rows')).json.powercap.length === 0);
  expect((await server.call('GET', '/powerbudgets/rack')).status).toBe(404);
}, 90_000);

it('counts what cannot be capped or read, and names it', async () => {
  const plan = await server.ok('GET', '/powerbudgets/new?watts=900&noderange=b1,bare,gone');
  expect(plan.held).toBe(false);
  expect(plan.problems).toEqual(['Nobody knows how much bare, gone draw.']);
  expect(plan.nodes.bare.problem).toMatch(/mgt is not set/);
}, 60_000);

it('needs the right to cap each of the nodes', async () => {
  const token = await addUser(server, 'some');
  const rule = (priority: number, commands: string, noderange: string) =>
    server.ok('PUT', `/tables/policy/rows/priority=${priority}`, { name: 'some', commands, noderange, rule: 'allow' });
  await rule(7.1, 'setpowerbudget', 'rack');
  await rule(7.2, 'renergy', 'b1,b2');
  const put = (noderange: string) =>
    server.call('PUT', '/powerbudgets/mine', { token, body: { watts: 500, noderange } });
  expect((await put('rack')).status).toBe(403);
  expect((await put('b1,bare')).status).toBe(403);
  expect((await put('b1,b2')).status).toBeLessThan(300);
  const twice = await server.call('PUT', '/powerbudgets/rack', { body: { watts: 900 } });
  expect(JSON.stringify(twice.json)).toMatch(/b1 is in the power budget mine already|b2 is in the power budget mine/);
  expect((await server.call('DELETE', '/powerbudgets/mine', { token })).status).toBe(403);
  await server.ok('DELETE', '/powerbudgets/mine');
}, 60_000);

it('is set, shown and removed from the command line, which says what it has done', async () => {
  const run = (...words: string[]) => program(muster, ['budget', ...words], environmentFor(server, data));
  expect(await run('set', 'few', '--watts', '500', '--nodes', 'b1,b2')).toMatchObject({
    code: 0,
    stdout: 'few: 500 W from now on. muster budget show few tells whether that can be held.\n',
  });
  expect((await run('show', 'few')).stdout).toContain('few (b1,b2): 500 W');
  expect(await run('remove', 'few')).toMatchObject({
    code: 0,
    stdout: 'few: removed. Its nodes get back the limits that they had before.\n',
  });
  expect(await run('remove', 'few')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no power budget "few"'),
  });
}, 60_000);

it.each([
  [{}, /watts/],
  [{ watts: 0, noderange: 'b1' }, /whole number of watts/],
  [{ watts: 5, other: 1 }, /other/],
  [{ watts: 5, noderange: 'nosuch' }, /nosuch/],
])('refuses %j', async (body, words) => {
  const reply = await server.call('PUT', '/powerbudgets/wrong', { body });
  expect(reply.status).toBeGreaterThanOrEqual(400);
  expect(JSON.stringify(reply.json)).toMatch(words);
});
