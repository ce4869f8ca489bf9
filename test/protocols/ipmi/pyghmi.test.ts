import { join } from 'node:path';
import { rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ipmiDriver } from '../../../src/drivers/ipmi/index.ts';
import { getChassisStatus } from '../../../src/protocols/ipmi/commands/chassis.ts';
import { IpmiClient } from '../../../src/protocols/ipmi/client.ts';
import { scratchDirectory } from '../../harness/store.ts';
import { type LabChild, startChild } from '../../lab/child.ts';
import { powerOn } from './world.ts';

/** pyghmi's BMC keeps sessions by the address and port they came from, and never frees them. */
const endpoint = { address: '127.23.0.1', port: 6230, username: 'admin', password: 'secret' };
const directory = scratchDirectory();
const { signal } = new AbortController();
const idle = 100;
let bmc: LabChild;

beforeAll(async () => {
  const { address, port, username, password } = endpoint;
  const script = join(import.meta.dirname, '../../lab/pyghmi-bmc.py');
  const args = [script, address, String(port), username, password];
  bmc = startChild('/usr/bin/python3', args, { directory, logFile: join(directory, 'pyghmi.log') });
  await vi.waitFor(() => expect(bmc.log()).toContain('ready'), { timeout: 30_000 });
});

afterAll(async () => {
  await bmc.stop();
  rmSync(directory, { recursive: true });
});

test('sessions that were closed for idleness are followed by new ones', async () => {
  const client = new IpmiClient({ idle, firstRetry: 100 });
  const link = client.link(endpoint);
  try {
    for (const power of [false, true, true, true]) {
      expect(await getChassisStatus(link, signal)).toMatchObject({ power });
      await link.request(powerOn, signal);
      await pause(3 * idle);
    }
  } finally {
    await client.close();
  }
});

test('what it does not have hides nothing that it has', async () => {
  const driver = ipmiDriver({});
  try {
    const { vitals, inventory } = driver.connect({ node: 'n1', ...endpoint });
    expect(await vitals?.read([], signal)).toMatchObject({
      'Power Status': expect.stringMatching(/^(on|off)$/),
      Message: [expect.stringMatching(/refused to list its sensors/)],
    });
    expect(await inventory?.read([], signal)).toMatchObject({
      'BMC Firmware': expect.any(String),
      Parts: expect.stringMatching(/^cannot be read: .*refused to list its sensors/),
    });
  } finally {
    await driver.close();
  }
});

test('it is restarted once, and the power of its machine stays', async () => {
  const driver = ipmiDriver({});
  try {
    const { power } = driver.connect({ node: 'n1', ...endpoint });
    const before = await power!.state(signal);
    expect(await power!.controller!.state(signal)).toBe('BMC Ready');
    expect(await power!.controller!.restart(signal)).toBe('BMC reboot');
    expect(bmc.log().match(/cold reset/g)).toHaveLength(1);
    expect(await power!.state(signal)).toBe(before);
  } finally {
    await driver.close();
  }
});
