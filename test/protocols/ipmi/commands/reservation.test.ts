import { expect, test } from 'vitest';
import { IpmiClient } from '../../../../src/protocols/ipmi/client.ts';
import { clearSel } from '../../../../src/protocols/ipmi/commands/sel.ts';
import { getSdrInfo, readSdrRecords } from '../../../../src/protocols/ipmi/commands/sdr.ts';
import { answerPacket, type LightBmc } from '../../../lab/light-bmc/bmc.ts';
import { readIpmi, readPlus, writeIpmi } from '../../../lab/light-bmc/packets.ts';
import { seal, unseal } from '../../../lab/light-bmc/session.ts';
import { startUdpBmc, type UdpBmc } from '../udp-bmc.ts';
import { bytes, patient } from './script.ts';

const storage = 0x0a;
const commands = { sdrInfo: 0x20, reserveSdr: 0x22, getSdr: 0x23, selInfo: 0x40, reserveSel: 0x42, clearSel: 0x47 };
const record = '0a0051111620008000001000070100cb4275696c74696e20465255';
const reservationCancelled = 0xc5;

/**
 * A light BMC that makes a new reservation whenever it is asked for one, and is slow to tell: the first time it does so when it was asked
 * so many times, and from then on it takes nearly twice as long as then. So a busy machine, which is slow to ask again, changes nothing.
 */
class SlowBmc {
  reservation = 0;
  erased = 0;
  udp!: UdpBmc;
  readonly #requests: number;
  #askedAt = 0;
  #took: number | undefined;

  constructor(requests: number) {
    this.#requests = requests;
  }

  async start(): Promise<UdpBmc> {
    this.udp = await startUdpBmc('127.0.0.1', (bmc, packet) => this.#answer(bmc, packet));
    return this.udp;
  }

  #answer(bmc: LightBmc, packet: Buffer): Buffer | undefined {
    const plus = readPlus(packet);
    const session = plus && bmc.sessions.get(plus.session);
    const message = session?.isOpen ? unseal(session, packet, plus!.payload) : undefined;
    const request = message && readIpmi(message);
    const reply = request?.netfn === storage ? this.#storage(request.command, request.data) : undefined;
    if (!session || !request || !reply) return answerPacket(bmc, packet);
    const port = this.udp.senders.at(-1)!;
    const sent = (): void =>
      this.udp.socket.send(seal(session, writeIpmi(request, reply.code, reply.data)), port, '127.0.0.1');
    if (!reply.slow) sent();
    else if (this.#took !== undefined) setTimeout(sent, 1.5 * this.#took);
    else if (this.reservation === 1) this.#askedAt = performance.now();
    else if (this.reservation === this.#requests) {
      this.#took = performance.now() - this.#askedAt;
      // The answer to the first of them.
      reply.data.writeUInt16LE(1);
      sent();
    }
    return undefined;
  }

  #storage(command: number, data: Buffer): { code: number; data: Buffer; slow?: boolean } | undefined {
    const id = Buffer.alloc(2);
    switch (command) {
      case commands.sdrInfo:
        return { code: 0, data: bytes('51 0100 feff 01020304 00000000 02') };
      case commands.selInfo:
        return { code: 0, data: bytes(`51 0500 0000 01000000 0${this.erased}000000 02`) };
      case commands.reserveSdr:
      case commands.reserveSel:
        id.writeUInt16LE(++this.reservation);
        return { code: 0, data: id, slow: true };
      case commands.getSdr:
      case commands.clearSel:
        if (data.readUInt16LE(0) !== this.reservation) return { code: reservationCancelled, data: Buffer.alloc(0) };
        if (command === commands.getSdr) return { code: 0, data: Buffer.concat([bytes('ffff'), this.#piece(data)]) };
        this.erased = 1;
        return { code: 0, data: Buffer.of(1) };
      default:
        return undefined;
    }
  }

  #piece(data: Buffer): Buffer {
    return bytes(record).subarray(data[4], data[4]! + data[5]!);
  }
}

/** It sends what is not answered again long before the slow answer comes. */
const impatient = () => new IpmiClient({ timeout: 60_000, firstRetry: 60 });

test.each([2, 3, 4])(
  'records are read though a reservation is told when it was asked for %d times',
  async (requests) => {
    const slow = new SlowBmc(requests);
    await using bmc = await slow.start();
    const client = impatient();
    const link = client.link({ address: '127.0.0.1', port: bmc.port, username: 'admin', password: 'secret' });
    const { source } = await getSdrInfo(link, patient);
    expect(await readSdrRecords(link, source, patient)).toEqual([bytes(record)]);
    expect(slow.reservation).toBe(requests + 1);
    await client.close();
  },
);

test('the event log is cleared though a reservation is told late', async () => {
  const slow = new SlowBmc(4);
  await using bmc = await slow.start();
  const client = impatient();
  const link = client.link({ address: '127.0.0.1', port: bmc.port, username: 'admin', password: 'secret' });
  await clearSel(link, patient);
  expect([slow.reservation, slow.erased]).toEqual([5, 1]);
  await client.close();
});
