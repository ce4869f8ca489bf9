import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Fault } from '../../../../src/core/errors.ts';
import { IpmiClient, type SerialConsole } from '../../../../src/protocols/ipmi/client.ts';
import { labAccounts } from '../../../lab/addresses.ts';
import { telnetBreak } from '../../../lab/bmc/serial-ports.ts';
import { type BmcLab, startBmcs } from '../../../lab/bmc.ts';
import { ipmitool } from '../../../drivers/ipmi/ipmitool.ts';
import { chassisStatus } from '../world.ts';

const { signal } = new AbortController();
const account = labAccounts.administrator;
const patience = { timeout: 60_000, interval: 20 };
let lab: BmcLab;
let client: IpmiClient;

beforeAll(async () => {
  lab = await startBmcs({ count: 6, prefix: '127.141', serial: (typed) => typed.replaceAll('\r', '\r\n# ') });
});
afterAll(() => lab?.stop());
beforeEach(() => {
  client = new IpmiClient();
});
afterEach(() => client.close());

interface Opened extends SerialConsole {
  readonly shown: () => string;
  readonly closed: (Fault | undefined)[];
}

async function open(
  index: number,
  takeOver = false,
  by: { username: string; password: string } = account,
): Promise<Opened> {
  let shown = '';
  const closed: (Fault | undefined)[] = [];
  const options = {
    takeOver,
    output: (characters: Uint8Array) => void (shown += Buffer.from(characters).toString('latin1')),
    closed: (reason?: Fault) => void closed.push(reason),
  };
  const console = await client.openSerial({ address: lab.addresses[index]!, ...by }, options, signal);
  return { ...console, shown: () => shown, closed };
}

const type = (console: SerialConsole, text: string) => console.write(Buffer.from(text, 'latin1'));

/** The session that has the console, as ipmitool sees it. */
async function ownerSeen(index: number): Promise<string> {
  const info = await ipmitool(lab.addresses[index]!, account, 'raw', '0x06', '0x4b', '0x01', '0x01');
  return info.replaceAll(' ', '').slice(0, 8);
}

/** Opens the console with ipmitool, until what is returned is called. */
async function openWithIpmitool(index: number): Promise<() => Promise<void>> {
  const login = [
    '-I',
    'lanplus',
    '-C',
    '17',
    '-H',
    lab.addresses[index]!,
    '-U',
    account.username,
    '-P',
    account.password,
  ];
  const child = spawn('ipmitool', [...login, 'sol', 'activate'], { stdio: ['pipe', 'ignore', 'ignore'] });
  await vi.waitFor(async () => expect(await ownerSeen(index)).not.toBe('00000000'), patience);
  return async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
}

test('what is typed reaches the machine, and what it prints comes back', async () => {
  const console = await open(0);
  await type(console, 'root\r');
  await vi.waitFor(() => expect(console.shown()).toBe('root\r\n# '), patience);
  lab.serial(0).print('Kernel panic\r\n');
  await vi.waitFor(() => expect(console.shown()).toContain('Kernel panic'), patience);
  await console.sendBreak();
  // ipmi_sim passes a break on with the next character.
  await type(console, 'x');
  await vi.waitFor(() => expect(lab.serial(0).typed).toBe(`root\r${telnetBreak}x`), patience);
  await console.close();
  expect([console.closed, await lab.sessions(0)]).toEqual([[undefined], 0]);
});

test('commands go on beside it', async () => {
  const console = await open(0);
  const { code } = await client.link({ address: lab.addresses[0]!, ...account }).request(chassisStatus, signal);
  expect(code).toBe(0);
  expect(await lab.sessions(0)).toBe(2);
  await console.close();
});

test('one console after the other, none loses its first characters', async () => {
  for (let round = 0; round < 3; round++) {
    const console = await open(1);
    await type(console, `${round}`);
    await vi.waitFor(() => expect(console.shown()).toContain(`${round}`), patience);
    await console.close();
  }
  expect(lab.serial(1).typed).toBe('012');
});

test('in use by ipmitool: a conflict with the name of its user; taken over on request', async () => {
  const leave = await openWithIpmitool(2);
  await expect(open(2)).rejects.toMatchObject({ kind: 'conflict' });
  await expect(open(2)).rejects.toThrow('its console over IPMI SOL is in use by the user "admin".');
  const console = await open(2, true);
  await type(console, 'mine');
  await vi.waitFor(() => expect(console.shown()).toContain('mine'), patience);
  await leave();
  await console.close();
});

test('what ipmitool sees while it is open', async () => {
  const console = await open(3);
  expect(await ownerSeen(3)).not.toBe('00000000');
  await console.close();
  expect(await ownerSeen(3)).toBe('00000000');
});

test('SOL that is disabled is said to be', async () => {
  await ipmitool(lab.addresses[3]!, account, 'sol', 'set', 'enabled', 'false', '1');
  await expect(open(3)).rejects.toThrow(/serial over LAN is disabled.*\(code 81h\)/);
  await ipmitool(lab.addresses[3]!, account, 'sol', 'set', 'enabled', 'true', '1');
  await (await open(3)).close();
});

test('a fifth of the packets of the BMC lost: every character arrives once', async () => {
  await lab.fault(4, { loss: 20 });
  const console = await open(4);
  let typed = '';
  for (let line = 0; line < 15; line++) {
    typed += `line ${line};`;
    await type(console, `line ${line};`);
  }
  await vi.waitFor(() => expect(console.shown()).toBe(typed), patience);
  expect(lab.serial(4).typed).toBe(typed);
  await console.close();
  await lab.fault(4, { loss: 0 });
});

test('a BMC that restarts ends it, and lets us in again', async () => {
  const hasty = new IpmiClient({ timeout: 1_000, keepAlive: 500 });
  const closed: (Fault | undefined)[] = [];
  const endpoint = { address: lab.addresses[5]!, ...account };
  const options = { takeOver: false, output: () => undefined, closed: (reason?: Fault) => void closed.push(reason) };
  await hasty.openSerial(endpoint, options, signal);
  await lab.fault(5, { forget: true });
  await vi.waitFor(() => expect(closed.map(String)).toEqual([expect.stringContaining('stopped answering')]), patience);
  const again = await hasty.openSerial(endpoint, options, signal);
  await again.write(Buffer.from('x'));
  await again.close();
  await hasty.close();
});

test('a client that is closed ends its consoles', async () => {
  const other = new IpmiClient();
  const closed: (Fault | undefined)[] = [];
  const options = { takeOver: false, output: () => undefined, closed: (reason?: Fault) => void closed.push(reason) };
  await other.openSerial({ address: lab.addresses[0]!, ...account }, options, signal);
  await other.close();
  expect(closed.map(String)).toEqual([expect.stringContaining('shutting down')]);
  await vi.waitFor(async () => expect(await lab.sessions(0)).toBe(0), patience);
});
