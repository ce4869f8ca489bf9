import { afterAll, beforeAll, expect, test } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';

let server: TestServer;
let op: string;
beforeAll(async () => {
  server = await startServer();
  op = await addUser(server, 'op');
  await server.ok('POST', '/nodes/v1', { groups: 'all,mine', mgt: 'kvm', vmhost: 'hv1' });
  await server.ok('POST', '/nodes/hv1-hv2', { groups: 'all,mine' });
  await server.ok('POST', '/nodes/hv9', { groups: 'all,others', ip: '10.9.0.9' });
  await server.ok('POST', '/policy/2', { name: 'op', rule: 'allow', commands: 'rmigrate', noderange: 'mine' });
});
afterAll(() => server?.stop());

const move = (target: string) => server.call('POST', '/nodes/v1/vmmigrate', { token: op, body: { target } });

test('machines move only to hypervisors that their mover has rights on', async () => {
  for (const target of ['hv9', '10.9.0.9', 'unheard-of']) {
    const { status, json } = await move(target);
    expect([status, json.error]).toEqual([403, [`"${target}" is no hypervisor that you have rights on.`]]);
  }
  const { status, json } = await move('hv2');
  expect([status, json.error]).toEqual([403, [expect.stringMatching(/^v1: no address is known of hv/)]]);
});
