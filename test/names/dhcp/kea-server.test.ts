import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Daemon } from '../../../src/names/daemons/daemon.ts';
import { type Base, readDocument } from '../../../src/names/dhcp/document.ts';
import { ownFiles, type KeaFiles, systemFiles } from '../../../src/names/dhcp/kea-files.ts';
import { KeaServer } from '../../../src/names/dhcp/kea-server.ts';
import type { Reservation } from '../../../src/names/dhcp/reservations.ts';
import { listenAsKea } from '../../lab/kea-socket.ts';

const example = '// The distribution’s.\n{ "Dhcp4": {} }\n';
const base: Base = readDocument(
  4,
  JSON.stringify({ Dhcp4: { 'user-context': { muster: true }, 'shared-networks': [], subnet4: [] } }),
)!;

/** A MAC address that gets no answer. */
const denied: Reservation = {
  node: 'n1',
  mac: '52:54:01:00:00:01',
  ip: undefined,
  address: '',
  hostname: 'n1',
  nextServer: undefined,
  loader: undefined,
};

let files: KeaFiles;
beforeEach(() => {
  files = ownFiles(mkdtempSync(join(tmpdir(), 'muster-kea-')), 4);
  writeFileSync(files.configuration, example);
  chmodSync(files.configuration, 0o644);
});
afterEach(() => rmSync(files.directory!, { recursive: true }));

const done = (): Promise<void> => Promise.resolve();
const daemon = (start: () => Promise<void>): Daemon => ({
  isRunning: () => Promise.resolve(false),
  start,
  reload: done,
  stop: done,
  resume: done,
  close: done,
});

async function server(start: () => Promise<void>, reader?: KeaFiles['reader']): Promise<KeaServer> {
  const made = new KeaServer(4, { ...files, reader }, ['kea-dhcp4'], daemon(start));
  await made.load();
  return made;
}

const kept = (): string => readFileSync(`${files.configuration}.before-muster`, 'utf8');
const written = (): string => readFileSync(files.configuration, 'utf8');

it('the configuration of somebody else is kept, also if Kea does not start with ours', async () => {
  const kea = await server(() => Promise.reject(new Error('it does not start')));
  for (let tries = 0; tries < 2; tries++) {
    await expect(kea.configure(base, [])).rejects.toThrow('it does not start');
    expect([written(), kept()]).toEqual([example, example]);
  }
});

it('what is to be installed is told where Kea is not there', async () => {
  const kea = new KeaServer(4, files, ['/nowhere/kea-dhcp4'], daemon(done));
  await kea.load();
  await expect(kea.check(base, [])).rejects.toThrow('Debian: apt install kea-dhcp4-server');
  expect(written()).toBe(example);
});

it.runIf(process.getuid!() === 0)('the user that Kea runs as can read its configuration, others cannot', async () => {
  const kea = await server(done, { name: 'somebody', uid: 4_711, gid: 4_712 });
  await kea.configure(base, []);
  const { uid, gid, mode } = statSync(files.configuration);
  expect({ uid, gid, mode: mode & 0o777 }).toEqual({ uid: 0, gid: 4_712, mode: 0o640 });
});

it('a configuration whose owner was changed is put right by configuring again', async () => {
  const kea = await server(done, { name: 'somebody', uid: process.getuid!(), gid: process.getgid!() });
  await kea.configure(base, []);
  chmodSync(files.configuration, 0o600);
  await kea.configure(base, []);
  expect(statSync(files.configuration).mode & 0o777).toBe(0o640);
});

it('a Kea that runs reads its file again; what it refuses does not stay there', async () => {
  const read: string[] = [];
  const refuses = { all: false };
  const socket = await listenAsKea(({ command }) => {
    if (command === 'status-get') return { result: 0, arguments: { pid: 7 } };
    if (command !== 'config-reload') return undefined;
    read.push(written());
    return refuses.all ? { result: 1, text: 'bad' } : { result: 0 };
  }, files.socket);
  try {
    const kea = await server(done);
    await kea.configure(base, []);
    const before = written();
    expect(read).toEqual([before]);
    refuses.all = true;
    await expect(kea.update([denied], undefined)).rejects.toThrow('refuses it, and keeps what it has');
    expect(read.at(-1)).toContain(denied.mac);
    expect(written()).toBe(before);
    refuses.all = false;
    await kea.update([denied], undefined);
    expect(written()).toContain(denied.mac);
  } finally {
    await socket.close();
  }
});

it('the files of a system’s Kea are where Debian has them', () => {
  const { configuration, socket, leaseFile, reader } = systemFiles(6);
  expect({ configuration, socket, leaseFile, reader: reader?.name }).toEqual({
    configuration: '/etc/kea/kea-dhcp6.conf',
    socket: '/run/kea/kea6-ctrl-socket',
    leaseFile: '/var/lib/kea/kea-leases6.csv',
    reader: '_kea',
  });
});
