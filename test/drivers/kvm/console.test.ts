import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Console, OpenConsole } from '../../../src/drivers/console.ts';
import type { Driver } from '../../../src/drivers/driver.ts';
import { kvm } from '../../../src/drivers/kvm/index.ts';
import { type LibvirtLab, startLibvirt } from '../../lab/libvirt.ts';
import { guestXml } from '../../lab/libvirt/guest.ts';
import { loginDisk } from '../../lab/vm/login-disk.ts';

const { signal } = new AbortController();
const patience = { timeout: 90_000, interval: 50 };
let lab: LibvirtLab;
let driver: Driver;

async function define(name: string, isRunning = true, bootDelay?: number): Promise<void> {
  const file = (end: string): string => join(lab.images, `${name}.${end}`);
  await writeFile(file('img'), loginDisk(name));
  await writeFile(file('xml'), guestXml(name, { disk: file('img'), hasTerminal: true, bootDelay }));
  await lab.virsh('define', file('xml'));
  if (isRunning) await lab.virsh('start', name);
}

beforeAll(async () => {
  lab = await startLibvirt();
  await mkdir(lab.images, { recursive: true });
  const options = { powerTimeout: 20_000, trust: { known: () => undefined, learn: async () => {} } };
  driver = kvm.open({ libvirtSocket: lab.socket, accelerator: 'qemu' }, options);
});
afterAll(async () => {
  await driver?.close();
  await lab?.stop();
});

const consoleOf = (node: string): Console =>
  driver.connect({ node, host: 'localhost', attributes: {}, route: null }).console!;

interface Opened extends OpenConsole {
  shown(): string;
  readonly closed: (string | undefined)[];
}

async function open(node: string, takeOver = false): Promise<Opened> {
  let shown = '';
  const closed: (string | undefined)[] = [];
  const console = await consoleOf(node).open(
    {
      takeOver,
      output: (bytes) => void (shown += Buffer.from(bytes).toString('latin1')),
      closed: (reason) => void closed.push(reason?.message),
    },
    signal,
  );
  return { ...console, shown: () => shown, closed };
}

const type = (console: OpenConsole, text: string) => console.write(Buffer.from(text, 'latin1'));
const shows = (console: Opened, text: string) => vi.waitFor(() => expect(console.shown()).toContain(text), patience);

test('what is typed reaches the machine, and what it prints comes back', async () => {
  await define('c1');
  const console = await open('c1');
  expect(console.way).toBe('libvirt localhost');
  await type(console, '\r');
  await shows(console, 'c1 login: ');
  await type(console, 'root\r');
  await shows(console, 'root\r\r\nc1 login: ');
  await expect(console.sendBreak()).rejects.toThrow('has no break');
  await console.close();
  expect(console.closed).toEqual([undefined]);
  await expect(type(console, 'x')).rejects.toThrow('its console is closed');
});

test('it stays open while the machine is off, and shows its boot from the first line on', async () => {
  // QEMU throws away what a machine prints while nobody reads: a busy machine has time until then.
  await define('c2', false, 5_000);
  const console = await open('c2');
  await expect(type(console, 'x')).rejects.toThrow('it is off');
  await lab.virsh('start', 'c2');
  await shows(console, 'c2 login: ');
  await lab.virsh('destroy', 'c2');
  await vi.waitFor(() => expect(type(console, 'x')).rejects.toThrow('it is off'), patience);
  await lab.virsh('start', 'c2');
  const boots = (): number => console.shown().split('c2 login: ').length - 1;
  await vi.waitFor(() => expect([boots(), ...console.closed]).not.toEqual([1]), patience);
  expect([boots(), ...console.closed]).toEqual([2]);
  await console.close();
});

describe('a console that virsh has', () => {
  async function openWithVirsh(name: string): Promise<() => Promise<void>> {
    const uri = `qemu+unix:///system?socket=${lab.socket}`;
    const command = `virsh -c '${uri}' console ${name}`;
    const child = spawn('script', ['-qc', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'ignore'] });
    const left = once(child, 'exit');
    let said = '';
    child.stdout.on('data', (bytes: Buffer) => (said += bytes.toString()));
    await vi.waitFor(() => expect(said).toContain('Connected to domain'), patience);
    child.stdin.write('\r');
    await vi.waitFor(() => expect(said).toContain('login: '), patience);
    return async () => {
      child.kill('SIGKILL');
      await left;
    };
  }

  test('is a conflict, and is taken over on request', async () => {
    await define('c3');
    const leave = await openWithVirsh('c3');
    await expect(open('c3')).rejects.toMatchObject({ kind: 'conflict' });
    const console = await open('c3', true);
    await type(console, 'mine\r');
    await shows(console, 'mine\r\r\nc3 login: ');
    await leave();
    await console.close();
  });
});

test('who loses it to somebody else hears of it', async () => {
  await define('c4');
  const first = await open('c4');
  const second = await open('c4', true);
  await vi.waitFor(
    () => expect(first.closed).toEqual(['its console is in use by another client of libvirt.']),
    patience,
  );
  await second.close();
});

test('a daemon that dies ends it, and commands find another', async () => {
  await define('c5');
  const console = await open('c5');
  await lab.killDaemon();
  await vi.waitFor(() => expect(console.closed).toEqual([expect.stringContaining('libvirt on localhost')]), patience);
  const again = await open('c5');
  await type(again, '\r');
  await shows(again, 'c5 login: ');
  await again.close();
});

test('a machine that is removed ends it; one that is not there is refused', async () => {
  await define('c6', false);
  const console = await open('c6');
  await lab.virsh('undefine', 'c6');
  await vi.waitFor(() => expect(console.closed).toEqual(['its machine is no longer on localhost.']), patience);
  await expect(open('c6')).rejects.toThrow('there is no virtual machine c6 on localhost');
});

test('a machine without a serial console is refused in words of libvirt', async () => {
  await writeFile(join(lab.images, 'c7.xml'), guestXml('c7'));
  await lab.virsh('define', join(lab.images, 'c7.xml'));
  await lab.virsh('start', 'c7');
  await expect(open('c7')).rejects.toThrow(/^libvirt on localhost says: /);
});
