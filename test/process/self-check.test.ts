import { chmodSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { compareClocks } from '../../src/self-check/times.ts';
import { checkIntegrity } from '../../src/database/sqlite/integrity.ts';
import { runMuster, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { makeNamespace } from '../lab/netns.ts';

interface Finding {
  readonly well: boolean;
  readonly what: string;
  readonly text: string;
}

const namespace = makeNamespace();
const own = '10.1.0.1';
let data: string;
let server: TestServer;
beforeAll(async () => {
  data = temporaryDirectory();
  for (const words of [
    ['link', 'add', 'nodes', 'type', 'veth', 'peer', 'name', 'switch'],
    ['link', 'set', 'switch', 'up'],
    ['address', 'add', `${own}/16`, 'dev', 'nodes'],
    ['link', 'set', 'nodes', 'up'],
  ])
    namespace.run('ip', ...words);
  writeFileSync(join(data, 'hosts'), '127.0.0.1 localhost\n');
  server = await startServer({
    data,
    namespace,
    listen: ['127.0.0.1:8443'],
    environment: {
      MUSTER_DNS_DAEMON: 'process',
      MUSTER_DNS_LISTEN: `${own}:53`,
      MUSTER_BOOT_LISTEN: `${own}:80`,
      MUSTER_BOOT_TFTP_LISTEN: `${own}:69`,
      MUSTER_HARDWARE_NETWORKS: '10.1.0.0/16',
      MUSTER_REMOTE_NETWORKS: '10.1.0.0/16',
    },
  });
  for (const [name, value] of Object.entries({ domain: 'cluster.test', master: own, nameservers: own }))
    await server.ok('PUT', `/globalconf/attrs/${name}`, { [name]: value });
  await server.ok('POST', '/networks/nodes', { net: '10.1.0.0', mask: '255.255.0.0' });
  await server.ok('POST', '/nodes/n1', { groups: 'all', ip: '10.1.0.5', mgt: 'ipmi', bmc: '10.1.200.5' });
  await server.ok('POST', '/nodes/n1/host');
  await server.ok('POST', '/services/dns');
}, 180_000);
afterAll(async () => {
  await server.stop();
  namespace.remove();
});

/** What is found now, and not what was found a moment ago. */
async function found(isThere: (findings: readonly Finding[]) => boolean): Promise<Finding[]> {
  let findings: Finding[] = [];
  await expect
    .poll(
      async () => {
        ({ findings } = await server.ok('GET', '/doctor'));
        return isThere(findings) ? [] : findings;
      },
      { timeout: 60_000, interval: 1_000 },
    )
    .toEqual([]);
  return findings;
}
const has = (what: string, well: boolean, text: string) => (findings: readonly Finding[]) =>
  findings.some((each) => each.what === what && each.well === well && each.text.includes(text));

it('a server that works finds all that it needs', async () => {
  const findings = await found(has('dns', true, `${own} gives n1.cluster.test the address 10.1.0.5`));
  for (const [what, text] of [
    ['ports', '127.0.0.1:8443 (listen), HTTPS: answers'],
    ['ports', `${own}:80 (boot.listen), boot files by HTTP: answers`],
    ['ports', `${own}:69 (boot.tftpListen), boot files by TFTP: answers`],
    ['certificate', 'that of the server is valid for 82'],
    ['daemons', 'BIND answers'],
    ['permissions', `only muster can read what is secret in ${data}`],
    ['database', 'SQLite finds no damage'],
    ['backup', 'none is scheduled: set backup.directory'],
    ['networks', `BMCs in 10.1.0.0/16 are reached from ${own} (nodes)`],
    ['networks', `nodes in 10.1.0.0/16 are reached from ${own} (nodes)`],
  ] as const)
    expect(findings).toContainEqual({ well: true, what, text: expect.stringContaining(text) });
  expect(findings.filter(({ well, what }) => !well && what !== 'loaders')).toEqual([]);
});

it('what is wrong is named with what to do', async () => {
  await server.ok('POST', '/nodes/n2', { groups: 'all', ip: '10.1.0.6', mgt: 'ipmi', bmc: '10.9.0.6' });
  chmodSync(join(data, 'secret.key'), 0o640);
  const findings = await found(has('permissions', false, `chmod 600 ${join(data, 'secret.key')}`));
  chmodSync(join(data, 'secret.key'), 0o600);
  for (const [what, text] of [
    ['dns', `${own} does not know n2.cluster.test: makehosts, then makedns`],
    ['networks', '1 nodes, such as n2, have a bmc outside of hardware.networks (10.1.0.0/16)'],
    ['networks', 'no way to 10.9.0.0/24, where BMCs are: give an interface'],
  ] as const)
    expect(findings).toContainEqual({ well: false, what, text: expect.stringContaining(text) });
  await server.ok('PUT', '/globalconf/attrs/nameservers', { nameservers: '10.1.0.77' });
  namespace.run('ip', 'route', 'add', 'unreachable', '10.1.0.77');
  await found(has('dns', false, '10.1.0.77, which nodes ask, does not answer'));
});

it('shows it only to those who may see it', async () => {
  await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=anna', { password: 'annas-own' });
  const as = { userName: 'anna', userPW: 'annas-own' };
  const { json } = await server.client.call('POST', '/tokens', { body: as });
  const token: string = json.token.id;
  expect((await server.call('GET', '/doctor', { token })).status).toBe(403);
  await server.ok('POST', '/policy/5', { name: 'anna', commands: 'doctor', rule: 'allow' });
  expect((await server.call('GET', '/doctor', { token })).status).toBe(200);
});

it('a damaged database is found out', async () => {
  const copy = join(data, 'copy.tar');
  expect(await runMuster(['--data', data, 'backup', copy])).toMatchObject({ code: 0 });
  const other = temporaryDirectory();
  expect(await runMuster(['--data', other, 'restore', copy])).toMatchObject({ code: 0 });
  const file = join(other, 'muster.sqlite');
  expect(await checkIntegrity(file)).toBeUndefined();
  const { size } = statSync(file);
  const handle = openSync(file, 'r+');
  for (let at = 4_096; at + 4_096 <= size; at += 4_096) writeSync(handle, Buffer.alloc(2_048, 0x5a), 0, 2_048, at);
  expect(await checkIntegrity(file)).toMatch(/malformed|corrupt|invalid|Tree|page/i);
  expect(readFileSync(file).length).toBe(size);
});

it.each([
  ['ahead of', 100_000, 60],
  ['behind', 30_000, 10],
])('a database whose clock is %s that of this machine is named', (how, there, seconds) => {
  expect(compareClocks(there, 40_000, 40_200)).toEqual({
    well: false,
    what: 'time',
    text: expect.stringContaining(`is ${seconds} seconds ${how} that of this machine`),
  });
  expect(compareClocks(there, there - 60_000, there + 60_000).well).toBe(true);
});
