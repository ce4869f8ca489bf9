// Run inside a network namespace: sets up DNS with named as the system's own user on port 53, and asks it from another namespace.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../../harness/server.ts';

const [client = ''] = process.argv.slice(2);
// named runs as another user, who must be able to get here.
const directory = mkdtempSync(join(tmpdir(), 'muster-ns-'));
chmodSync(directory, 0o755);
mkdirSync(join(directory, 'bind'));
writeFileSync(join(directory, 'hosts'), '127.0.0.1 localhost\n');
const server = await startServer({
  environment: {
    MUSTER_DNS_DAEMON: 'process',
    MUSTER_DNS_USER: 'bind',
    MUSTER_DNS_DIRECTORY: join(directory, 'bind'),
    MUSTER_HOSTS_FILE: join(directory, 'hosts'),
  },
});
const dig = (...args: string[]): string => {
  const words = ['netns', 'exec', client, 'dig', '+short', '+time=2', ...args];
  return execFileSync('ip', words, { encoding: 'utf8' }).trim();
};
try {
  const site = { domain: 'cluster.test', master: '10.79.0.1', forwarders: '127.0.0.2', dnsforwardmode: 'only' };
  for (const [name, value] of Object.entries(site)) {
    await server.ok('PUT', `/globalconf/attrs/${name}`, { [name]: value });
  }
  await server.ok('POST', '/networks/net79', { net: '10.79.0.0', mask: '255.255.255.0' });
  await server.ok('POST', '/networks/six', { net: 'fd79::', mask: '/64' });
  await server.ok('PUT', '/nodes', { n1: { groups: 'all', ip: '10.79.0.11' }, n2: { groups: 'all', ip: 'fd79::12' } });
  await server.ok('POST', '/nodes/n1,n2/host');
  await server.ok('POST', '/services/dns');
  await server.ok('DELETE', '/nodes/n2/dns');
  const removed = dig('@10.79.0.1', 'n2.cluster.test', 'AAAA');
  await server.ok('POST', '/nodes/n2/dns');
  const report = {
    removed,
    overIpv4: dig('@10.79.0.1', 'n1.cluster.test'),
    overIpv6: dig('@fd79::1', 'n2.cluster.test', 'AAAA'),
    backwards: dig('@fd79::1', '-x', 'fd79::12'),
    overTcp: dig('@10.79.0.1', '+tcp', '-x', '10.79.0.11'),
    keyIsNameds: statSync(join(directory, 'bind/muster.key')).uid !== 0,
  };
  console.log(JSON.stringify(report));
} finally {
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
}
