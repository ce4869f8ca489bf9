import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { dutiesOf } from '../../src/bus/index.ts';
import { userNamed } from '../../src/names/index.ts';
import { type LabChild, said, startChild } from '../lab/child.ts';
import type { DriverOptions } from './duties-driver.ts';

const isDebian = existsSync('/etc/bind') && existsSync('/var/lib/bind');
const canRun = process.getuid!() === 0 && isDebian;
if (!canRun) console.warn('The test of where a worker keeps the files of named is left out: it needs root and bind9.');

const top = mkdtempSync(join(tmpdir(), 'muster-places-'));
let worker: LabChild | undefined;
let started = 0;
afterEach(async () => {
  await worker?.stop();
  worker = undefined;
});
afterAll(() => rmSync(top, { recursive: true, force: true }));

/** Runs named with the default directories, which are empty and its own, after a shell command that prepares them. */
function start(prepare: string): LabChild {
  const [duty] = dutiesOf(
    {
      dns: {
        zones: [],
        primary: { host: '127.0.0.1', port: 9 },
        key: { name: 'muster-transfer', secret: 'c2VjcmV0' },
        forwarders: [],
        forwardOnly: false,
        clients: [],
      },
      dhcp: null,
      syslog: null,
    },
    1,
  );
  const options: DriverOptions = {
    settings: { dnsListen: [{ host: '127.0.0.1', port: 53 }] },
    directory: join(top, 'sn1'),
    duty: duty!,
  };
  const driver = join(import.meta.dirname, 'duties-driver.ts');
  const places = 'mount -t tmpfs -o mode=755 none /etc/bind; mount -t tmpfs -o mode=775,gid=bind none /var/lib/bind';
  const shell = `ip link set lo up; ${places}; ${prepare}; exec "$@"`;
  const words = ['--mount', '--net', 'sh', '-ec', shell, 'sh', process.execPath, driver, JSON.stringify(options)];
  return startChild('unshare', words, { directory: top, logFile: join(top, `worker${++started}`) });
}

test.runIf(canRun)(
  'root writes the configuration of named where named cannot, and gives it a directory for zones',
  async () => {
    worker = start(':');
    await said(worker, '"serves":["dns"]');
    const seen = (path: string): string => `/proc/${worker!.process.pid}/root${path}`;
    const [configuration, zones] = ['/etc/bind/muster-worker-sn1', '/var/lib/bind/muster-worker-sn1'].map(seen);
    const { uid, gid } = userNamed('bind')!;
    expect(statSync(configuration!)).toMatchObject({ uid: 0, mode: 0o40755 });
    const [file, ...more] = readdirSync(configuration!);
    expect([file, more]).toEqual([expect.stringMatching(/^named-\w+\.conf$/), []]);
    expect(statSync(join(configuration!, file!))).toMatchObject({ uid: 0, gid, mode: 0o100640 });
    expect(statSync(zones!)).toMatchObject({ uid, gid, mode: 0o40700 });
  },
);

test.runIf(canRun)('a link that named could put in its directory is not followed', async () => {
  worker = start('mkdir -m 711 /etc/bind/root; ln -s /etc/bind/root /var/lib/bind/muster-worker-sn1');
  await said(worker, '"problems":["It runs no name server: /var/lib/bind/muster-worker-sn1 is a link or a file');
  const target = `/proc/${worker.process.pid}/root/etc/bind/root`;
  expect([statSync(target).uid, statSync(target).mode, readdirSync(target)]).toEqual([0, 0o40711, []]);
});

test.runIf(canRun)('no configuration is written where another user could change it', async () => {
  worker = start('chgrp bind /etc/bind; chmod 775 /etc/bind');
  await said(worker, '"problems":["It runs no name server: other users than root could change the configuration');
  expect(readdirSync(`/proc/${worker.process.pid}/root/etc/bind`)).toEqual([]);
});
