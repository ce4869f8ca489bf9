import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { connectNamespaces, makeNamespace } from '../../lab/netns.ts';

const server = makeNamespace();
const client = makeNamespace();
afterAll(() => {
  server.remove();
  client.remove();
});

it('a machine in the network asks the server for the nodes, by IPv4, IPv6 and TCP; named is not root', () => {
  connectNamespaces(
    { namespace: server, interface: 'eth0', addresses: ['10.79.0.1/24', 'fd79::1/64'] },
    { namespace: client, interface: 'eth0', addresses: ['10.79.0.2/24', 'fd79::2/64'] },
  );
  const driver = join(import.meta.dirname, 'namespace-driver.ts');
  const output = server.run(process.execPath, driver, client.name);
  expect(JSON.parse(output.trim().split('\n').at(-1)!)).toEqual({
    removed: '',
    overIpv4: '10.79.0.11',
    overIpv6: 'fd79::12',
    backwards: 'n2.cluster.test.',
    overTcp: 'n1.cluster.test.',
    keyIsNameds: true,
  });
});
