import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tags } from '../../../src/protocols/snmp/message.ts';
import { type SnmpAgent, walk } from '../../../src/protocols/snmp/session.ts';
import { readForwarding } from '../../../src/boot/discovery/switches.ts';
import { type SnmpLab, startSwitch } from '../../lab/snmp.ts';

describe('the tables of a switch', () => {
  const port = 16_162;
  const community = 'of-the-switch';
  const many = Object.fromEntries(
    Array.from({ length: 300 }, (_, index) => [
      `52:54:00:01:${(index >> 8).toString(16).padStart(2, '0')}:${(index & 255).toString(16).padStart(2, '0')}`,
      `Ethernet${index + 1}`,
    ]),
  );
  let labs: SnmpLab[];
  beforeAll(async () => {
    labs = await Promise.all([
      startSwitch({ address: '127.0.0.62', port, community, seen: many }),
      startSwitch({ address: '127.0.0.63', port, community, seen: { '52:54:00:00:00:01': 'Gi1/0/1' }, vlan: 4_000 }),
    ]);
  });
  afterAll(() => Promise.all(labs.map((lab) => lab.stop())));
  const { signal } = new AbortController();
  const agent = (address: string, name = community): SnmpAgent => ({
    address,
    port,
    access: { version: '2c', community: name },
  });

  it('are read to their end, and no further', async () => {
    expect(Object.fromEntries(await readForwarding(agent('127.0.0.62'), signal))).toEqual(many);
  });

  it('are read for each VLAN', async () => {
    const table = await readForwarding(agent('127.0.0.63'), signal);
    expect([...table]).toEqual([['52:54:00:00:00:01', 'Gi1/0/1']]);
  });

  it('are not there for who does not know the community, or where nobody listens', async () => {
    await expect(walk(agent('127.0.0.62', 'wrong'), [1, 3, 6, 1], signal)).rejects.toThrow(
      'its SNMP agent at 127.0.0.62 does not answer; check its address, SNMP version and community.',
    );
    await expect(walk(agent('127.0.0.64'), [1, 3, 6, 1], signal)).rejects.toThrow(
      `nothing listens at UDP port ${port} of 127.0.0.64 for SNMP.`,
    );
  });

  it('end where an agent does not go forward', async () => {
    const stuck = createSocket('udp4');
    stuck.on('message', (bytes, from) => {
      // The same request, turned into an answer that has the name that was asked for.
      const answer = Buffer.from(bytes);
      answer[answer.indexOf(tags.getBulk, 10)] = tags.response;
      stuck.send(answer, from.port);
    });
    stuck.bind(0, '127.0.0.1');
    await once(stuck, 'listening');
    const at = { ...agent('127.0.0.1'), port: stuck.address().port };
    const rows = await walk(at, [1, 3, 6, 1], signal);
    expect(rows).toEqual([]);
    stuck.close();
  });
});
