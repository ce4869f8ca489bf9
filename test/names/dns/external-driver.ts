// Run inside a network namespace: muster with a name server of its own first, then with one in another namespace, asked by dig.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { exitOf, startServer } from '../../harness/server.ts';

const [far = ''] = process.argv.slice(2);
const address = '10.79.0.2';
const directory = mkdtempSync(join(tmpdir(), 'muster-ext-'));
chmodSync(directory, 0o755);
const secret = Buffer.from('a secret of thirty-two bytes ....').toString('base64');
const keyFile = join(directory, 'key');

/** A server for others too: it recurses, has empty zones for private addresses, and one zone that nobody may change. */
function configure(...zones: string[]): void {
  const text = '$TTL 60\n@ IN SOA ns.corp.test. root.corp.test. ( 5 60 60 60 60 )\n@ IN NS ns.corp.test.\n';
  for (const zone of [...zones, 'fixed.test']) writeFileSync(join(directory, `db.${zone}`), text, { flag: 'a' });
  const zone = (name: string, more: string): string =>
    `zone "${name}" { type primary; file "${directory}/db.${name}"; ${more} };`;
  const conf = `include "${keyFile}"; controls { };
    options { directory "${directory}"; listen-on port 53 { ${address}; }; listen-on-v6 { none; }; pid-file none;
      session-keyfile none; recursion yes; dnssec-validation no; };
    ${zones.map((name) => zone(name, 'allow-update { key "corp"; };')).join('\n')} ${zone('fixed.test', '')}\n`;
  writeFileSync(join(directory, 'named.conf'), conf);
}
writeFileSync(keyFile, `key "corp" { algorithm hmac-sha256; secret "${secret}"; };\n`);
configure('cluster.test', '79.10.in-addr.arpa');
const start = () =>
  spawn('ip', ['netns', 'exec', far, 'named', '-g', '-c', join(directory, 'named.conf')], { stdio: 'ignore' });
let foreign = start();

const dig = (server: string, ...args: string[]): string =>
  execFileSync('dig', [`@${server}`, '+short', '+time=2', ...args], { encoding: 'utf8' }).trim();
const there = (...args: string[]): string => dig(address, ...args);
const serial = (): string => dig('127.0.0.1', 'cluster.test', 'SOA').split(' ')[2]!;
async function untilThere(): Promise<void> {
  for (let left = 100; left > 0; left--) {
    try {
      if (there('cluster.test', 'SOA') !== '') return;
    } catch {
      // Not yet.
    }
    await pause(100);
  }
}

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
const key = (password: string) =>
  server.ok('PUT', '/tables/passwd/rows/key=omapi,username=corp', { password, cryptmethod: 'hmac-sha256' });
const told = async (method: 'POST' | 'DELETE', path: string): Promise<string> => {
  const { status, json, text } = await server.call(method, path, { query: { debug: 1 } });
  return `${status} ${text === '' ? '' : [...(json.error ?? []), ...(json.debug ?? []).filter((line: string) => /^[A-Z]/.test(line))].join(' ')}`.trim();
};
const report: Record<string, unknown> = {};
try {
  for (const [name, value] of Object.entries({ domain: 'cluster.test', master: '10.79.0.1', dnsforwardmode: 'only' }))
    await site(name, value);
  await site('forwarders', '127.0.0.2');
  for (const [name, net, domain] of [
    ['a', '10.79.0.0', ''],
    ['b', '10.80.0.0', ''],
    ['c', '10.79.7.0', 'fixed.test'],
    ['d', '10.79.8.0', 'late.test'],
  ])
    await server.ok('POST', `/networks/${name}`, { net, mask: '255.255.255.0', domain });
  const nodes = { n1: '10.79.0.11', n2: '10.80.0.12', n3: '10.79.7.13', n4: '10.79.8.14' };
  await server.ok(
    'PUT',
    '/nodes',
    Object.fromEntries(Object.entries(nodes).map(([node, ip]) => [node, { groups: 'all', ip }])),
  );
  await server.ok('PUT', '/nodes/n1', { hostnames: 'login' });
  await server.ok('POST', '/nodes/all/host');
  await server.ok('POST', '/services/dns');
  const before = serial();
  await untilThere();
  await site('externaldns', '1');
  await site('nameservers', `${address},10.79.0.99`);

  await key(Buffer.from('wrong').toString('base64'));
  report['wrongKey'] = [await told('POST', '/nodes/n1/dns'), there('n1.cluster.test')];
  await key(secret);
  report['added'] = [
    await told('POST', '/nodes/n1/dns'),
    there('n1.cluster.test'),
    there('-x', '10.79.0.11'),
    there('login.cluster.test'),
  ];
  report['noReverse'] = [await told('POST', '/nodes/n2/dns'), there('n2.cluster.test')];
  report['noReverseRemoved'] = [await told('DELETE', '/nodes/n2/dns'), there('n2.cluster.test')];
  report['refused'] = [await told('POST', '/nodes/n1,n2,n3/dns'), there('n2.cluster.test'), there('-x', '10.79.7.13')];
  report['noZone'] = [await told('POST', '/nodes/n4/dns'), there('-x', '10.79.8.14')];
  configure('cluster.test', '79.10.in-addr.arpa', 'late.test');
  const pid = execFileSync('ip', ['netns', 'pids', far], { encoding: 'utf8' }).trim().split('\n').map(Number);
  for (const each of pid) process.kill(each, 'SIGHUP');
  for (let left = 50; left > 0 && there('late.test', 'SOA') === ''; left--) await pause(100);
  report['zoneMade'] = [await told('POST', '/nodes/n4/dns'), there('n4.late.test')];
  execFileSync('nsupdate', ['-k', keyFile], {
    input: `server ${address}\nupdate add n2.cluster.test 60 CNAME x.y\nsend\n`,
  });
  report['inTheWay'] = [await told('POST', '/nodes/n1,n2/dns'), there('n2.cluster.test', 'CNAME')];
  execFileSync('nsupdate', ['-k', keyFile], {
    input: `server ${address}\nupdate delete n2.cluster.test CNAME\nsend\n`,
  });
  await server.ok('DELETE', '/nodes/n3');
  writeFileSync(join(directory, 'hosts'), '127.0.0.1 localhost\n10.79.0.11 n1\n10.79.0.50 printer\n');
  report['service'] = [await told('POST', '/services/dns'), there('printer.cluster.test'), there('login.cluster.test')];
  const ended = exitOf(foreign);
  for (const each of pid) process.kill(each, 'SIGKILL');
  await ended;
  report['away'] = await told('DELETE', '/nodes/n1/dns');
  foreign = start();
  await untilThere();
  report['back'] = [there('n1.cluster.test'), await told('DELETE', '/nodes/n1/dns'), there('n1.cluster.test')];
  report['local'] = [serial() === before, dig('127.0.0.1', 'n1.cluster.test'), dig('127.0.0.1', 'login.cluster.test')];
  await site('externaldns', '');
  report['localAgain'] = [await told('DELETE', '/nodes/n1/dns'), dig('127.0.0.1', 'n1.cluster.test')];
} finally {
  await server.stop();
  foreign.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
}
console.log(JSON.stringify(report));
