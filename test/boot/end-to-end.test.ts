import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { machineName, startBootWorld, type BootWorld } from '../lab/netboot/world.ts';

describe('a blank machine becomes a running node', { timeout: 900_000 }, () => {
  let world: BootWorld;
  beforeAll(async () => {
    world = await startBootWorld({ machines: [{ firmware: 'bios' }] });
    await world.server().ok('POST', '/osimages/deb/instance', { action: 'pack' });
  }, 900_000);
  afterAll(() => world?.stop());

  it('in memory', async () => {
    const server = world.server();
    await server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
    await server.ok('PUT', '/nodes/n1/nextboot', { order: 'net' });
    await server.ok('PUT', '/nodes/n1/power', { action: 'on' });
    const status = async () => (await server.ok('GET', '/nodes/n1/attrs/status')).n1.status as string;
    try {
      await expect.poll(status, { timeout: 600_000, interval: 1000 }).toBe('booted');
    } finally {
      console.log(world.machine(0).screen().slice(-3000), server.output().slice(-3000));
    }
    const reply = await server.call('POST', `/nodes/${machineName(0)}/nodeshell`, {
      body: { command: 'hostname; cat /proc/cmdline' },
    });
    console.log(reply.text);
  });
});
