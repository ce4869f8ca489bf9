// Run inside a network namespace: muster serves part of a reverse zone of which another name server, its forwarder, has the whole.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { exitOf, startServer } from '../../harness/server.ts';

const directory = mkdtempSync(join(tmpdir(), 'muster-neighbours-'));
const forwarder = '127.0.0.2';
execFileSync('ip', ['link', 'set', 'lo', 'up']);
// named listens only on addresses that an interface has.
execFileSync('ip', ['address', 'add', `${forwarder}/8`, 'dev', 'lo']);

const head = '$TTL 60\n@ IN SOA ns.corp.test. root.corp.test. ( 5 60 60 60 60 )\n@ IN NS ns.corp.test.\n';
const nibbles = `${'0.'.repeat(24)}9.7.d.f.ip6.arpa`;
const theirs = {
  '2.1.10.in-addr.arpa': '5 PTR low.corp.test.\n70 PTR outdated.corp.test.\n200 PTR high.corp.test.\n',
  [nibbles]: '9.0.0.0 PTR outdated.corp.test.\nc.0.0.0 PTR six.corp.test.\n',
};
for (const [zone, records] of Object.entries(theirs)) writeFileSync(join(directory, zone), head + records);
const zones = Object.keys(theirs).map((zone) => `zone "${zone}" { type primary; file "${directory}/${zone}"; };`);
writeFileSync(
  join(directory, 'named.conf'),
  `controls { }; options { directory "${directory}"; listen-on port 53 { ${forwarder}; }; listen-on-v6 { none; };
   pid-file none; session-keyfile none; recursion no; };\n${zones.join('\n')}\n`,
);
const foreign = spawn('named', ['-g', '-c', join(directory, 'named.conf')], { stdio: 'ignore' });

const dig = (server: string, ...args: string[]): string =>
  execFileSync('dig', [`@${server}`, '+short', '+time=5', '+tries=3', ...args], { encoding: 'utf8' }).trim();
async function untilThere(): Promise<void> {
  for (let left = 100; ; left--) {
    try {
      return void dig(forwarder, '2.1.10.in-addr.arpa', 'SOA');
    } catch (error) {
      if (left === 0) throw error;
      await pause(100);
    }
  }
}
const ask = () => ({
  below: dig('127.0.0.1', '-x', '10.1.2.5'),
  node: dig('127.0.0.1', '-x', '10.1.2.70'),
  above: dig('127.0.0.1', '-x', '10.1.2.200'),
  node6: dig('127.0.0.1', '-x', 'fd79::9'),
  beside6: dig('127.0.0.1', '-x', 'fd79::c'),
});

mkdirSync(join(directory, 'data'));
writeFileSync(join(directory, 'hosts'), '127.0.0.1 localhost\n');
const server = await startServer({
  data: join(directory, 'data'),
  environment: {
    MUSTER_DNS_DAEMON: 'process',
    MUSTER_DNS_LISTEN: '127.0.0.1:53',
    MUSTER_HOSTS_FILE: join(directory, 'hosts'),
  },
});
const site = (name: string, value: string) => server.ok('PUT', `/globalconf/attrs/${name}`, { [name]: value });
try {
  for (const [name, value] of Object.entries({ domain: 'cluster.test', master: '10.1.2.65', forwarders: forwarder }))
    await site(name, value);
  await server.ok('POST', '/networks/quarter', { net: '10.1.2.64', mask: '255.255.255.192' });
  await server.ok('POST', '/networks/six', { net: 'fd79::8', mask: '/126' });
  await server.ok('PUT', '/nodes', {
    n70: { groups: 'all', ip: '10.1.2.70' },
    n9: { groups: 'all', ip: 'fd79::9' },
  });
  await server.ok('POST', '/nodes/n70,n9/host');
  await untilThere();
  const report: Record<string, unknown> = {};
  for (const mode of ['first', 'only']) {
    await site('dnsforwardmode', mode);
    await server.ok('POST', '/services/dns');
    report[mode] = ask();
  }
  await server.ok('DELETE', '/nodes/n70/dns');
  report['without'] = ask();
  await server.ok('POST', '/nodes/n70/dns');
  report['again'] = ask();
  console.log(JSON.stringify(report));
} finally {
  await server.stop();
  const ended = exitOf(foreign);
  foreign.kill();
  await ended;
  rmSync(directory, { recursive: true, force: true });
}
