import { afterAll, beforeAll, expect, test } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';

const address = '127.178.99.1';
let server: TestServer;
let op: string;
beforeAll(async () => {
  server = await startServer({ environment: { MUSTER_REMOTE_PORT: '1', MUSTER_REMOTE_CONNECT_SECONDS: '2' } });
  op = await addUser(server, 'op');
  await server.ok('PUT', '/nodes', {
    hv1: { groups: 'all', ip: address },
    v1: { groups: 'all,mine', mgt: 'kvm', vmhost: 'hv1' },
    n1: { groups: 'all,mine', ip: '127.178.99.2', servicenode: 'hv1' },
  });
  await server.ok('POST', '/policy/2', { name: 'op', rule: 'allow', commands: 'rpower,xdsh', noderange: 'mine' });
});
afterAll(() => server?.stop());

test.each([
  ['the hypervisor of a machine', 'GET', '/nodes/v1/power', undefined],
  ['the service node of a node', 'POST', '/nodes/n1/nodeshell', { command: ['true'] }],
])('the address of %s is not in errors for those who may not know of it', async (_whose, method, path, body) => {
  const [whole, limited] = await Promise.all(
    [server.token, op].map(async (token) => (await server.call(method, path, { token, body })).json.error[0] as string),
  );
  expect(whole).toContain(address);
  expect(limited).toContain('sshd at (hidden address):1 refused the connection');
  expect(limited).not.toContain(address);
});
