import { expect, it } from 'vitest';
import type { Logger } from '../src/core/log.ts';
import { IpmiClient } from '../src/protocols/ipmi/client.ts';
import { StandIn } from '../src/protocols/ipmi/stand-in.ts';
import { rehearse } from '../src/rehearsal.ts';
import { startServer } from './harness/server.ts';
import { startUdpBmc } from './protocols/ipmi/udp-bmc.ts';
import { chassisStatus } from './protocols/ipmi/world.ts';

const patience = { timeout: 120_000 };
const { signal } = new AbortController();
const sockets = (): number => process.getActiveResourcesInfo().filter((name) => name.includes('UDP')).length;

it('goes through whole sessions and leaves nothing open', async () => {
  const said: string[] = [];
  const say = (...words: unknown[]): unknown => said.push(String(words.at(-1)));
  await rehearse({ debug: say, warn: say } as unknown as Logger);
  expect(said).toEqual([expect.stringMatching(/^rehearsed \d+ sessions/)]);
  await expect.poll(sockets, patience).toBe(0);
});

it.each([17, 3] as const)('is with a stand-in that keeps to the protocol, suite %i', async (suite) => {
  const standIn = new StandIn('right', Uint8Array.of(0, 0x21, 0x10, 0x40));
  const reply = (_: unknown, packet: Buffer): Buffer | undefined => {
    const bytes = standIn.reply(packet);
    return bytes && Buffer.from(bytes);
  };
  await using bmc = await startUdpBmc('127.0.0.1', reply);
  const client = new IpmiClient();
  try {
    const ask = (password: string) =>
      client
        .link({ address: '127.0.0.1', port: bmc.port, username: 'u', password, suites: [suite] })
        .request(chassisStatus, signal);
    expect(await ask('right')).toEqual({ code: 0, data: Buffer.of(0x21, 0x10, 0x40) });
    await expect(ask('wrong')).rejects.toThrow(/password/);
  } finally {
    await client.close();
  }
});

it('is done at the start', async () => {
  const muster = await startServer({ environment: { MUSTER_REHEARSAL: 'true', MUSTER_LOG_LEVEL: 'debug' } });
  try {
    expect((await muster.call('GET', '/health')).status).toBe(200);
    await expect.poll(() => muster.output(), patience).toMatch(/rehearsed \d+ sessions/);
  } finally {
    await muster.stop();
  }
});
