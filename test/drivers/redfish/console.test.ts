import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Console, OpenConsole } from '../../../src/drivers/console.ts';
import type { Driver } from '../../../src/drivers/driver.ts';
import { openbmcDriver } from '../../../src/drivers/openbmc/index.ts';
import { redfishDriver } from '../../../src/drivers/redfish/index.ts';
import type { HostKeys } from '../../../src/protocols/ssh/host-keys.ts';
import { labAccounts } from '../../lab/addresses.ts';
import { type BmcLab, startBmcs } from '../../lab/bmc.ts';
import { type RedfishLab, startRedfish } from '../../lab/redfish.ts';
import { consoleShells, type SshConsoleLab, startSshConsoles } from '../../lab/ssh-consoles.ts';
import { memoryTrust } from '../../protocols/redfish/memory-trust.ts';

const { signal } = new AbortController();
const patience = { timeout: 60_000, interval: 30 };
const prefix = '127.142';
const sshPort = 2200;
const account = labAccounts.administrator;
const [openbmc, ilo, xcc, idrac, shared, ipmi] = [0, 1, 2, 3, 4, 5];
const known = new Map<string, string>();
const hostKeys: HostKeys = {
  policy: 'first-use',
  known: (node) => [known.get(node)].filter((key) => key !== undefined),
  learn: async (node, key) => void known.set(node, key),
  howToForget: (node) => `forget ${node}`,
  howToLearn: () => 'learn it',
};
let redfish: RedfishLab;
let ssh: SshConsoleLab;
let bmcs: BmcLab;
const drivers: Record<string, Driver> = {};

beforeAll(async () => {
  const kinds = ['openbmc', ...Array.from({ length: 6 }, () => 'plain' as const)] as const;
  [redfish, ssh, bmcs] = await Promise.all([
    startRedfish({ count: 7, prefix, port: 8_448, kinds }),
    startSshConsoles(consoleShells, prefix, sshPort),
    startBmcs({ count: 6, prefix, serial: (typed) => typed }),
  ]);
  const options = { trust: memoryTrust(), hostKeys, powerTimeout: 10_000 };
  Object.assign(drivers, { redfish: redfishDriver(options), openbmc: openbmcDriver(options) });
});
afterAll(async () => {
  await Promise.all(Object.values(drivers).map((driver) => driver.close()));
  await Promise.all([redfish?.stop(), ssh?.stop(), bmcs?.stop()]);
});
afterEach(() => consoleShells.forEach((_, index) => ssh.occupy(index, false)));

const consoleOf = (index: number, kind = 'redfish', node = `n${index}`): Console =>
  drivers[kind]!.connect({ node, address: redfish.addresses[index]!, port: redfish.port, ...account }).console!;

interface Opened extends OpenConsole {
  shown(): string;
  readonly closed: (string | undefined)[];
}

async function open(console: Console, takeOver = false): Promise<Opened> {
  let shown = '';
  const closed: (string | undefined)[] = [];
  const opened = await console.open(
    {
      takeOver,
      output: (bytes) => void (shown += Buffer.from(bytes).toString('latin1')),
      closed: (reason) => void closed.push(reason?.message),
    },
    signal,
  );
  return { ...opened, shown: () => shown, closed };
}

const type = (console: OpenConsole, text: string) => console.write(Buffer.from(text, 'latin1'));
const shows = (console: Opened, text: string) => vi.waitFor(() => expect(console.shown()).toContain(text), patience);
const ofVendor = (vendor: string, types: readonly string[] = ['SSH', 'IPMI']) => ({
  vendor,
  manager: { SerialConsole: { ServiceEnabled: true, MaxConcurrentSessions: 2, ConnectTypesSupported: types } },
  protocol: { SSH: { ProtocolEnabled: true, Port: sshPort } },
});

test('of OpenBMC, on its port for it', async () => {
  const console = await open(consoleOf(openbmc, 'openbmc'));
  expect(console.way).toBe(`SSH ${redfish.addresses[0]}:2200`);
  await shows(console, 'machine login: ');
  await type(console, 'root\r');
  await shows(console, 'root\r\nmachine login: ');
  await console.sendBreak();
  await shows(console, '<break>');
  await console.close();
  expect(console.closed).toEqual([undefined]);
});

describe('as the Redfish service says it', () => {
  test.each([
    ['HPE', ilo],
    ['Lenovo', xcc],
    ['Dell Inc.', idrac],
  ])('of %s, behind the command line of its BMC', async (vendor, index) => {
    await redfish.fault(index, { console: ofVendor(vendor) });
    const console = await open(consoleOf(index));
    await type(console, 'root\r');
    await shows(console, 'root\r\nmachine login: ');
    expect(console.shown()).not.toContain('hpiLO');
    await console.close();
  });

  test('SerialConsole of the system goes first, with the command that it names', async () => {
    const SSH = { ServiceEnabled: true, Port: sshPort, SharedWithManagerCLI: true, ConsoleEntryCommand: 'open serial' };
    await redfish.fault(shared, { console: { ...ofVendor('HPE'), system: { SerialConsole: { SSH } } } });
    const console = await open(consoleOf(shared));
    await shows(console, 'machine login: ');
    expect(console.way).toBe(`SSH ${redfish.addresses[shared]}:2200`);
    await console.close();
  });

  test('one on a port of its own has no command', async () => {
    const SSH = { ServiceEnabled: true, Port: sshPort, SharedWithManagerCLI: false };
    await redfish.fault(openbmc, { console: { system: { SerialConsole: { SSH } } } });
    const console = await open(consoleOf(openbmc, 'redfish', 'direct'));
    await shows(console, 'machine login: ');
    expect(console.way).toBe(`SSH ${redfish.addresses[openbmc]}:2200`);
    await console.close();
  });

  test('IPMI, where it has no other', async () => {
    await redfish.fault(ipmi, { console: { system: { SerialConsole: { IPMI: { ServiceEnabled: true } } } } });
    const console = await open(consoleOf(ipmi));
    expect(console.way).toBe(`SOL ${redfish.addresses[ipmi]}`);
    await type(console, 'echo');
    await shows(console, 'echo');
    await console.close();
  });

  test('none', async () => {
    await expect(open(consoleOf(6))).rejects.toThrow('offers no serial console over SSH or IPMI that is enabled');
  });

  test('a command that is none is refused, and nothing is sent', async () => {
    const SSH = { ServiceEnabled: true, Port: sshPort, ConsoleEntryCommand: 'console\nreboot' };
    await redfish.fault(6, { console: { system: { SerialConsole: { SSH } } } });
    await expect(open(consoleOf(6))).rejects.toMatchObject({ kind: 'garbled' });
  });
});

test.each([
  ['HPE', ilo, 'Virtual Serial Port is currently in use by another session.'],
  ['Lenovo', xcc, 'Console 1 is in use by another session system>.'],
])('of %s in use: a conflict, and taken over on request', async (vendor, index, words) => {
  await redfish.fault(index, { console: ofVendor(vendor) });
  ssh.occupy(index, true);
  const refused = await open(consoleOf(index)).catch((error: Error) => error);
  expect(refused).toMatchObject({ kind: 'conflict', message: expect.stringContaining(words.slice(0, 40)) });
  const console = await open(consoleOf(index), true);
  await shows(console, 'machine login: ');
  await console.close();
});

test('an unknown command shows what the BMC says', async () => {
  await redfish.fault(shared, { console: ofVendor('Lenovo') });
  await expect(open(consoleOf(shared))).rejects.toThrow('its BMC did not open the console: Unknown command: console 1');
});

test('a BMC that dies ends it', async () => {
  const console = await open(consoleOf(openbmc, 'openbmc'));
  ssh.sever(openbmc);
  await vi.waitFor(() => expect(console.closed).toHaveLength(1), patience);
  expect(console.closed[0]).toBeDefined();
  await expect(type(console, 'x')).rejects.toThrow();
});

test('the host key that was shown first has to be shown again', async () => {
  await (await open(consoleOf(openbmc, 'openbmc'))).close();
  await ssh.changeHostKey(openbmc);
  await expect(open(consoleOf(openbmc, 'openbmc'))).rejects.toThrow('has changed, and nothing was sent to it');
  known.delete(`n${openbmc}`);
  await (await open(consoleOf(openbmc, 'openbmc'))).close();
});

test('a wrong password is refused', async () => {
  const access = { node: 'wrong', address: redfish.addresses[openbmc]!, port: redfish.port };
  const console = drivers['openbmc']!.connect({ ...access, ...account, password: 'wrong' }).console!;
  await expect(open(console)).rejects.toThrow(/refuse|wrong|denied|accept/);
});
