import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Fault } from '../../../../src/core/errors.ts';
import { decodeBootFlags, decodeChassisStatus, getBootFlags } from '../../../../src/protocols/ipmi/commands/chassis.ts';
import * as dcmi from '../../../../src/protocols/ipmi/commands/dcmi.ts';
import { getControllerId } from '../../../../src/protocols/ipmi/commands/dcmi.ts';
import { decodeDeviceId, decodeGuid } from '../../../../src/protocols/ipmi/commands/device.ts';
import * as areas from '../../../../src/protocols/ipmi/commands/fru.ts';
import { readFru } from '../../../../src/protocols/ipmi/commands/fru.ts';
import * as values from '../../../../src/protocols/ipmi/commands/lan.ts';
import { getAlerting } from '../../../../src/protocols/ipmi/commands/lan.ts';
import { decodeSdrRecord } from '../../../../src/protocols/ipmi/commands/sdr-record.ts';
import { getSdrInfo, readSdrRecords } from '../../../../src/protocols/ipmi/commands/sdr.ts';
import { selText } from '../../../../src/protocols/ipmi/commands/sel-text.ts';
import { clearSel, decodeSelEntry, decodeSelInfo, readSel } from '../../../../src/protocols/ipmi/commands/sel.ts';
import { decodeReading } from '../../../../src/protocols/ipmi/commands/sensor.ts';
import { decodeField } from '../../../../src/protocols/ipmi/commands/bytes.ts';
import { decodeUserAccess, decodeUserName } from '../../../../src/protocols/ipmi/commands/users.ts';
import type { IpmiLink } from '../../../../src/protocols/ipmi/link.ts';
import { patient } from './script.ts';

const decoders: Readonly<Record<string, (data: Buffer) => unknown>> = {
  decodeDeviceId,
  decodeGuid,
  decodeChassisStatus,
  decodeBootFlags,
  decodeSdrRecord,
  decodeReading,
  decodeSelInfo,
  decodeSelEntry,
  selText: (data) => selText(decodeSelEntry(data), decodeSdrRecord(data)),
  sdrText: (data) => decodeField(data, 0, 'sdr'),
  fruText: (data) => decodeField(data, 0, 'fru'),
  decodeFruHeader: areas.decodeFruHeader,
  decodeChassisArea: areas.decodeChassisArea,
  decodeBoardArea: areas.decodeBoardArea,
  decodeProductArea: areas.decodeProductArea,
  decodeIpv4: values.decodeIpv4,
  decodeVlan: values.decodeVlan,
  decodeCommunity: values.decodeCommunity,
  decodeArpInterval: values.decodeArpInterval,
  decodeDestination: values.decodeDestination,
  decodeUserAccess,
  decodeUserName,
  decodePowerReading: dcmi.decodePowerReading,
  decodePowerLimit: dcmi.decodePowerLimit,
  decodeTemperatures: dcmi.decodeTemperatures,
};

const garbage = fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes));

test.each(Object.entries(decoders))('%s answers any bytes with a value or a Fault', (_, decode) => {
  fc.assert(
    fc.property(garbage, (data) => {
      try {
        expect(decode(data)).not.toBeNull();
      } catch (error) {
        expect(error).toMatchObject({ kind: 'garbled' });
        expect(error).toBeInstanceOf(Fault);
      }
    }),
    { numRuns: 500 },
  );
});

const types = [0x01, 0x02, 0x03, 0x11, 0x12];

test('sensor records of known kinds and any content are decoded', () => {
  fc.assert(
    fc.property(fc.constantFrom(...types), garbage, (type, rest) => {
      const records = decodeSdrRecord(Buffer.concat([Buffer.of(1, 0, 0x51, type, rest.length), rest]));
      expect(records.every(({ name }) => !/\p{Cc}/u.test(name))).toBe(true);
    }),
    { numRuns: 1000 },
  );
});

/** Answers every request with bytes of the fuzzer's choice, and ends: a walk over them must end before. */
function garbageLink(answers: readonly Buffer[]): IpmiLink {
  let next = 0;
  return {
    async request() {
      const data = answers[next];
      next += 1;
      if (data === undefined) throw new Fault('deadline', 'no more answers');
      return { code: data.length % 7 === 6 ? (data[0] ?? 0) | 0x80 : 0, data };
    },
  };
}

const walks: Readonly<Record<string, (link: IpmiLink) => Promise<unknown>>> = {
  sdr: async (link) => readSdrRecords(link, (await getSdrInfo(link, patient)).source, patient),
  sel: (link) => readSel(link, patient),
  fru: (link) => readFru(link, 0, patient),
  boot: (link) => getBootFlags(link, patient),
  host: (link) => getControllerId(link, patient),
  alert: (link) => getAlerting(link, patient),
  limit: (link) => dcmi.getPowerLimit(link, patient),
};

test.each(Object.entries(walks))('reading %s from garbage ends with a value or a Fault', async (_, walk) => {
  const answers = fc.array(
    // No busy code (C0h) and no lost reservation: those mean waiting, which is tested elsewhere.
    garbage.filter((data) => data.length % 7 !== 6 || ![0x40, 0x45, 0xc0, 0xc5].includes(data[0] ?? 0)),
    { maxLength: 30 },
  );
  await fc.assert(
    fc.asyncProperty(answers, async (list) => {
      const outcome = await walk(garbageLink(list)).catch((error: unknown) => error);
      if (outcome instanceof Error) expect(outcome).toBeInstanceOf(Fault);
      else expect(outcome).not.toBeNull();
    }),
    { numRuns: 200 },
  );
});

test('clearing a log that answers garbage ends with a Fault or success', async () => {
  const answers = fc.array(
    garbage.filter((data) => data.length % 7 !== 6 && (data[0] ?? 0) % 16 === 1),
    { maxLength: 6 },
  );
  await fc.assert(
    fc.asyncProperty(answers, async (list) => {
      const outcome = await clearSel(garbageLink(list), patient).catch((error: unknown) => error);
      expect(outcome === undefined || outcome instanceof Fault).toBe(true);
    }),
    { numRuns: 100 },
  );
});
