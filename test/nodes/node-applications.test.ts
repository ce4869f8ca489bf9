import { afterAll, beforeAll, expect, test } from 'vitest';
import { applicationStatus, monitoredApplications, usualApplications } from '../../src/nodes/node-probes.ts';
import { memoryStore, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
beforeAll(async () => {
  cluster = await memoryStore();
  await cluster.put(
    ['nodelist', { node: 'c1', groups: 'compute,all' }],
    ['nodelist', { node: 's1', groups: 'service,all' }],
  );
});
afterAll(() => cluster.close());

/** What is looked for with these values of the keys of xcatmon; those not named are unset. */
async function monitored(settings: Readonly<Record<string, string>>): Promise<string[]> {
  const keys = new Set([...cluster.rows('monsetting').map((row) => row['key']!), ...Object.keys(settings)]);
  await cluster.put(
    ...[...keys].map((key) => ['monsetting', { name: 'xcatmon', key, value: settings[key] ?? '' }] as const),
  );
  return monitoredApplications(cluster.current).map(
    ({ name, port, nodes }) => `${name} ${port}${nodes ? ` on ${[...nodes].join(',')}` : ''}`,
  );
}

const usual = ['https 443', 'msrpc 135', 'pbs 15002', 'rdp 3389', 'sshd 22', 'xend 8002'];

test.each<[string, Record<string, string>, string[]]>([
  ['no list: the usual ones', {}, usual],
  ['an empty list: the usual ones', { apps: ' , ', ll: 'port=1' }, usual],
  ['a port, and always sshd', { apps: 'mine', mine: 'port=9000' }, ['mine 9000', 'sshd 22']],
  ['ssh is sshd', { apps: 'ssh' }, ['ssh 22']],
  ['names have usual ports', { apps: 'll,gpfs,ll' }, ['gpfs 1191', 'll 9616', 'sshd 22']],
  ['a given port wins', { apps: 'sshd', sshd: 'port=2222' }, ['sshd 2222']],
  ['the system knows ports too', { apps: 'telnet' }, ['sshd 22', 'telnet 23']],
  ['a group', { apps: 'a', a: 'port=1, group=compute' }, ['a 1 on c1', 'sshd 22']],
  ['several groups', { apps: 'a', a: 'group=compute,group=service,port=1' }, ['a 1 on c1,s1', 'sshd 22']],
  ['what is not in the list does not count', { apps: 'll', other: 'cmd=/bin/true' }, ['ll 9616', 'sshd 22']],
])('%s', async (_title, settings, expected) => expect(await monitored(settings)).toEqual(expected));

test.each<[string, Record<string, string>, RegExp]>([
  ['a command here', { apps: 'a', a: 'cmd=/bin/true,port=1' }, /"a": cmd= is not supported/],
  ['a command on the management node', { apps: 'a', a: 'lcmd=/bin/true' }, /"a": lcmd= is not supported/],
  ['a command on nodes', { apps: 'a', a: 'dcmd=/bin/true' }, /"a": dcmd= is not supported/],
  ['an unknown word', { apps: 'a', a: 'prot=1' }, /"a": "prot" is not known/],
  ['no port', { apps: 'no-such-service' }, /"no-such-service": its port is not known/],
  ['port 0', { apps: 'a', a: 'port=0' }, /"0" is not a port/],
  ['a port beyond all', { apps: 'a', a: 'port=65536' }, /"65536" is not a port/],
  ['a port that is no number', { apps: 'a', a: 'port=0x16' }, /"0x16" is not a port/],
  ['an unknown group', { apps: 'a', a: 'port=1,group=nobody' }, /there is no group "nobody"/],
  ['too many', { apps: Array.from({ length: 65 }, (_, i) => `a${i}`).join() }, /more than 64/],
])('refused: %s', async (_title, settings, message) => {
  await expect(monitored(settings)).rejects.toThrow(message);
});

test('a disabled list is none', async () => {
  await cluster.put(['monsetting', { name: 'xcatmon', key: 'apps', value: 'll', disable: '1' }]);
  expect(monitoredApplications(cluster.current)).toBe(usualApplications);
  await cluster.put(['monsetting', { name: 'xcatmon', key: 'apps', disable: '' }]);
});

test('each is up or down', () => {
  const both = [
    { name: 'll', port: 9616 },
    { name: 'sshd', port: 22 },
  ];
  expect(applicationStatus(both, ['sshd'])).toBe('ll=down,sshd=up');
});
