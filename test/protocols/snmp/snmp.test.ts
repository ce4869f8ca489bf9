import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  BerReader,
  decodeInteger,
  decodeOid,
  decodeResponse,
  encodeGetBulk,
  encodeInteger,
  encodeOid,
  tags,
} from '../../../src/protocols/snmp/message.ts';
import { walk } from '../../../src/protocols/snmp/walk.ts';
import { readForwarding } from '../../../src/boot/discovery/switches.ts';
import { type SnmpLab, startSwitch } from '../../lab/snmp.ts';

describe('the encoding', () => {
  it('brings numbers and names back', () => {
    for (const value of [0, 1, 127, 128, 255, 65_536, 2_147_483_647, -1])
      expect(new BerReader(encodeInteger(value)).integer()).toBe(value);
    for (const oid of [
      [1, 3, 6, 1],
      [1, 3, 128, 16_384, 4_294_967_295],
    ])
      expect(decodeOid(new BerReader(encodeOid(oid)).expect(tags.oid))).toEqual(oid);
    expect(decodeInteger(Buffer.from([0xff]))).toBe(-1);
  });

  it('of anything else is refused, never misread', () => {
    const request = encodeGetBulk('public', 7, [1, 3, 6], 40);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(request.length), (noise, cut) => {
        for (const bytes of [Buffer.from(noise), Buffer.concat([request.subarray(0, cut), noise])]) {
          try {
            decodeResponse(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(RangeError);
          }
        }
      }),
    );
  });
});

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

  it('are read to their end, and no further', async () => {
    expect(Object.fromEntries(await readForwarding({ address: '127.0.0.62', port, community }, signal))).toEqual(many);
  });

  it('are read for each VLAN', async () => {
    const table = await readForwarding({ address: '127.0.0.63', port, community }, signal);
    expect([...table]).toEqual([['52:54:00:00:00:01', 'Gi1/0/1']]);
  });

  it('are not there for who does not know the community, or where nobody listens', async () => {
    for (const address of ['127.0.0.62', '127.0.0.64'])
      await expect(walk({ address, port, community: 'wrong' }, [1, 3, 6, 1], signal)).rejects.toThrow(
        `the switch at ${address} does not answer by SNMP; is its community right?`,
      );
  });

  it('end where an agent does not go forward', async () => {
    const agent = createSocket('udp4');
    agent.on('message', (bytes, from) => {
      // The same request, turned into an answer that has the name that was asked for.
      const answer = Buffer.from(bytes);
      answer[answer.indexOf(tags.getBulk, 10)] = tags.response;
      agent.send(answer, from.port);
    });
    agent.bind(0, '127.0.0.1');
    await once(agent, 'listening');
    const rows = await walk({ address: '127.0.0.1', port: agent.address().port, community }, [1, 3, 6, 1], signal);
    expect(rows).toEqual([]);
    agent.close();
  });
});
