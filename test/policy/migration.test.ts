import { afterAll, beforeAll, expect, test } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';

/** `op` may list every node, and has rights on its own machine and two hypervisors. `lead` has rights on all but one. */
let server: TestServer;
let op: string;
let lead: string;
beforeAll(async () => {
  server = await startServer();
  op = await addUser(server, 'op');
  lead = await addUser(server, 'lead');
  await server.ok('PUT', '/globalconf/attrs/domain', { domain: 'cluster.example' });
  await server.ok('POST', '/nodes/v1', { groups: 'all,mine', mgt: 'kvm', vmhost: 'hv1' });
  await server.ok('POST', '/nodes/hv1-hv2', { groups: 'all,mine' });
  await server.ok('POST', '/nodes/hv9', { groups: 'all,others', ip: '10.9.0.9' });
  const rules = [
    { name: 'op', rule: 'allow', commands: 'lsdef,nodels' },
    { name: 'op', rule: 'allow', commands: 'rmigrate,rpower', noderange: 'mine' },
    { name: 'lead', rule: 'deny', commands: 'rmigrate', noderange: 'others' },
    { name: 'lead', rule: 'allow', commands: 'rmigrate' },
  ];
  for (const [i, rule] of rules.entries()) await server.ok('POST', `/policy/${i + 2}`, rule);
});
afterAll(() => server?.stop());

const move = (target: string, token = op, root = '/muster') =>
  server.call('POST', '/nodes/v1/vmmigrate', { token, root, body: { target } });
const refused = (user: string, target: string): string =>
  `User "${user}" may not run rmigrate with the target "${target}": this needs a policy rule for rmigrate that covers the target as a node, or one without a noderange if it is no node.`;
const unreachable = [403, [expect.stringMatching(/^v1: no address is known of hv/)]];

test.each(['hv9', '10.9.0.9', 'unheard-of', 'HV2', 'hv2.cluster.example', 'localhost', 'mine'])(
  'a right on some nodes moves no machine to %s, which it does not cover, whatever the account may see',
  async (target) => {
    for (const [root, denied] of [
      ['/muster', 403],
      ['/xcatws', 401],
    ] as const) {
      const { status, json } = await move(target, op, root);
      expect([status, json.error.at(-1)]).toEqual([denied, refused('op', target)]);
    }
    expect(await server.ok('GET', '/nodes/v1/attrs/vmhost')).toEqual({ v1: { vmhost: 'hv1' } });
  },
);

test('a right on the machine and on the hypervisor moves it there', async () => {
  const { status, json } = await move('hv2');
  expect([status, json.error]).toEqual(unreachable);
});

test('a rule that refuses some hypervisors refuses every name that could lead to them', async () => {
  for (const target of ['hv9', '10.9.0.9', 'hv9.cluster.example']) {
    const { status, json } = await move(target, lead);
    expect([status, json.error]).toEqual([403, [refused('lead', target)]]);
  }
  const { status, json } = await move('hv2', lead);
  expect([status, json.error]).toEqual(unreachable);
});
