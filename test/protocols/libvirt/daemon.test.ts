import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  actOnDomain,
  defineDomain,
  domainState,
  domainStates,
  domainStatistics,
  domainXml,
  findDomain,
  followDomains,
  type LifecycleEvent,
  lifecycles,
  listDomains,
  openDriver,
  statistics,
  undefineDomain,
} from '../../../src/protocols/libvirt/calls/domains.ts';
import { createPool, createVolume, findPool } from '../../../src/protocols/libvirt/calls/storage.ts';
import { LibvirtConnection } from '../../../src/protocols/libvirt/connection.ts';
import type { LibvirtFault } from '../../../src/protocols/libvirt/faults.ts';
import { openSocket } from '../../../src/protocols/libvirt/streams.ts';
import { type LibvirtLab, startLibvirt } from '../../lab/libvirt.ts';
import { guestXml } from '../../lab/libvirt/guest.ts';
import { converse } from './conversation.ts';

const options = { signal: new AbortController().signal };
let lab: LibvirtLab;
const opened: LibvirtConnection[] = [];

async function open(uri?: string): Promise<LibvirtConnection> {
  const connection = new LibvirtConnection(await openSocket(lab.socket), { where: 'lab' });
  opened.push(connection);
  if (uri !== undefined) await openDriver(connection, uri, options);
  return connection;
}

beforeAll(async () => {
  lab = await startLibvirt();
});
afterAll(async () => {
  for (const connection of opened) connection.close();
  await lab.stop();
});

test('a real daemon answers as the captured one', async () => {
  const heard = await converse(await open());
  expect(heard).toMatchObject({ state: { state: domainStates.running }, refusal: { code: 55 }, gone: undefined });
  expect(heard.events.map(({ event }) => event)).toEqual([lifecycles.stopped, lifecycles.started]);
});

test('a machine of QEMU is defined, started, killed and removed, and its life is told', async () => {
  const connection = await open('qemu:///system');
  const events: LifecycleEvent[] = [];
  await followDomains(connection, (event) => events.push(event), options);
  const domain = await defineDomain(connection, guestXml('g1'), options);
  expect(await lab.virsh('domuuid', 'g1')).toBe(domain.uuid);
  await actOnDomain(connection, 'start', domain, options);
  expect(await lab.virsh('domstate', 'g1')).toBe('running');
  expect(await domainState(connection, domain, options)).toMatchObject({ state: domainStates.running });
  expect(await domainXml(connection, domain, 'now', options)).toContain("<domain type='qemu' id=");
  expect(await domainXml(connection, domain, 'next start', options)).toContain("<domain type='qemu'>");
  await actOnDomain(connection, 'destroy', domain, options);
  await undefineDomain(connection, domain, options);
  expect(await findDomain(connection, { name: 'g1' }, options)).toBeUndefined();
  expect(await lab.virsh('list', '--all', '--name')).toBe('');
  expect(events.map(({ event }) => event)).toEqual(
    expect.arrayContaining([lifecycles.defined, lifecycles.started, lifecycles.stopped, lifecycles.undefined]),
  );
});

test('many machines are told in one call', async () => {
  const connection = await open('qemu:///system');
  const names = Array.from({ length: 30 }, (_, index) => `m${index}`);
  const domains = await Promise.all(names.map((name) => defineDomain(connection, guestXml(name), options)));
  const states = await domainStatistics(connection, statistics.state, [], options);
  expect(states.map(({ domain }) => domain.name).sort()).toEqual(names.toSorted());
  expect(states.every(({ values }) => values.get('state.state') === domainStates.off)).toBe(true);
  await Promise.all(domains.map((domain) => undefineDomain(connection, domain, options)));
  expect(await listDomains(connection, options)).toEqual([]);
});

test('disks are made in a directory', async () => {
  const connection = await open('qemu:///system');
  expect(await findPool(connection, { directory: lab.images }, options)).toBeUndefined();
  const xml = `<pool type='dir'><name>p1</name><target><path>${lab.images}</path></target></pool>`;
  const pool = await createPool(connection, xml, options);
  expect(await findPool(connection, { directory: lab.images }, options)).toEqual(pool);
  const disk = (name: string): string =>
    `<volume><name>${name}</name><capacity unit='MiB'>4</capacity><target><format type='qcow2'/></target></volume>`;
  const { key } = await createVolume(connection, pool, disk('a.qcow2'), options);
  expect(await lab.virsh('vol-info', key)).toMatch(/Capacity: +4.00 MiB/);
  const again = await createVolume(connection, pool, disk('a.qcow2'), options).catch((error: LibvirtFault) => error);
  expect(again).toMatchObject({ code: 90 });
});

test('what is no XML is refused in libvirt’s words, on one line', async () => {
  const connection = await open('qemu:///system');
  const refused = await defineDomain(connection, '<domain>\n<x', options).catch((error: LibvirtFault) => error);
  expect(refused).toMatchObject({
    failure: 'refused',
    message: expect.stringMatching(/^libvirt on lab says: [^\n]+$/),
  });
  expect(connection.isOpen).toBe(true);
});

test('a daemon that dies ends the connection, and a new one finds its machine running', async () => {
  const connection = await open('qemu:///system');
  const domain = await defineDomain(connection, guestXml('survivor'), options);
  await actOnDomain(connection, 'start', domain, options);
  const ended = new Promise<LibvirtFault>((resolve) => (connection.onEnd = resolve));
  await lab.killDaemon();
  expect((await ended).failure).toBe('lost');
  const next = await open('qemu:///system');
  expect(await domainState(next, domain, options)).toMatchObject({ state: domainStates.running });
});
