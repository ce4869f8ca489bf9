import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readElf } from '../../../src/images/build/elf.ts';
import { ramdiskTools } from '../../../src/images/build/ramdisk-tools.ts';
import { temporaryDirectory } from '../../harness/server.ts';
import { machineArch } from '../../lab/netboot/machine.ts';
import { startSwitch, switchName } from '../../lab/netboot/switch.ts';
import { makeNamespace } from '../../lab/netns.ts';
import { openRamdisk } from './in-ramdisk.ts';

const tools = join(import.meta.dirname, '../../../share/ramdisk/tools');

it('what a program needs is what the loader finds', () => {
  const found = readElf(readFileSync('/usr/bin/perl'));
  const listed = execFileSync('readelf', ['-dl', '/usr/bin/perl'], { encoding: 'utf8' });
  expect(found?.needed).toEqual([...listed.matchAll(/NEEDED\).*\[(.*)\]/g)].map(([, name]) => name));
  expect(found?.interpreter).toBe(/interpreter: (.*)\]/.exec(listed)?.[1]);
});

it.each([
  ['nothing', Buffer.alloc(0)],
  ['a text', Buffer.from('#!/bin/sh\n'.repeat(20))],
  ['one that leads out of itself', Buffer.concat([Buffer.from('7f454c460201', 'hex'), Buffer.alloc(60, 0xff)])],
])('%s is no program', (_name, bytes) => {
  expect(readElf(bytes)).toBeUndefined();
});

it('Perl runs in the RAM disk by what was put there, and says nothing of a BMC where there is none', async () => {
  const ramdisk = openRamdisk();
  const found = ramdiskTools(join(ramdisk.top, 'newroot'), machineArch);
  expect([...found.keys()]).toContain('bin/perl');
  ramdisk.put(Object.fromEntries(found));
  const lines = 'tool bmc; echo $?';
  expect(await ramdisk.run(lines)).toBe('1\n');
});

it('there are none for processors that neither the image nor this machine has programs for', () => {
  expect(ramdiskTools('/nowhere', 'ppc64le').size).toBe(0);
});

it('switches are heard by LLDP, and told in JSON', async () => {
  const namespace = makeNamespace();
  const directory = temporaryDirectory();
  onTestFinished(() => {
    namespace.remove();
    rmSync(directory, { recursive: true, force: true });
  });
  namespace.run('ip', 'link', 'add', 'port7', 'type', 'veth', 'peer', 'name', 'eth0');
  for (const name of ['port7', 'eth0']) namespace.run('ip', 'link', 'set', name, 'up');
  const neighbour = startSwitch(namespace, ['port7'], directory);
  onTestFinished(() => neighbour.stop());
  const file = join(directory, 'heard');
  namespace.run('perl', join(tools, 'lldp'), file, '30', 'eth0');
  expect(existsSync(file)).toBe(true);
  const heard = readFileSync(file);
  expect(heard.toString()).toContain(`eth0\t${switchName}\tport7\n`);
  const ramdisk = openRamdisk();
  ramdisk.put({ 'run/lldp': heard, 'proc/cpuinfo': 'processor : 0\n' });
  const machine = JSON.parse(await ramdisk.run('connected=eth0 destiny=discover processor=10.0.0.7 describe_machine'));
  expect(machine.lldp).toContainEqual({ interface: 'eth0', chassis: switchName, port: 'port7' });
  expect(machine.bmc).toEqual({ address: '10.0.0.7' });
});
