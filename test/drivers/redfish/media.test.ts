import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import type { MediaOrder, OwnMedium } from '../../../src/drivers/media.ts';
import { redfishDriver } from '../../../src/drivers/redfish/index.ts';
import { labAccounts } from '../../lab/addresses.ts';
import { type RedfishLab, startRedfish } from '../../lab/redfish.ts';
import { memoryTrust } from '../../protocols/redfish/memory-trust.ts';

/** Drives with the manager, with the system, changed by PATCH, of OpenBMC, none. */
const [older, newer, sparse, openbmc, enclosure] = [0, 1, 2, 3, 4] as const;
const all = [older, newer, sparse, openbmc] as const;
const never = new AbortController().signal;
const port = 4432;
const secret = 'qLm3_z9XoD1-yVb7KfTtNw';
const url = `http://10.9.8.7/boot/media/${secret}/boot.iso`;
const foreign = 'nfs://filer/other.iso';

let lab: RedfishLab;
const { username, password } = labAccounts.administrator;
const driver = redfishDriver({ trust: memoryTrust(), powerTimeout: 1_000, settleTime: 700, loginBrake: 100 });

beforeAll(async () => {
  lab = await startRedfish({
    count: 5,
    prefix: '127.59',
    port,
    kinds: ['plain', 'plain', 'sparse', 'openbmc', 'enclosure'],
  });
});
afterAll(async () => {
  await driver.close();
  await lab?.stop();
});
afterEach(async () => {
  for (const index of all) {
    await lab.fault(index, { media: {}, dead: false, delay: 0, at: false, garbage: false, unavailable: 0 });
    for (const { id } of await drivesOf(index)) await lab.fault(index, { medium: { drive: id, image: null } });
  }
});

const mediaOf = (index: number) =>
  driver.connect({ node: `n${index}`, address: lab.addresses[index]!, port, username, password }).media!;
const drivesOf = async (index: number) => (await lab.state(index)).media.drives;
const images = async (index: number) =>
  Object.fromEntries((await drivesOf(index)).flatMap(({ id, image }) => (image === null ? [] : [[id, image]])));

/** What would be known after a crash. */
interface Kept {
  own: OwnMedium | undefined;
}

const insert = (index: number, more: Partial<MediaOrder> = {}, kept: Kept = { own: undefined }) =>
  mediaOf(index).insert(
    {
      url,
      own: kept.own,
      drive: undefined,
      force: false,
      async keep(drive) {
        kept.own = { drive, url: more.url ?? url };
      },
      ...more,
    },
    never,
  );
const eject = (index: number, own: OwnMedium | undefined, more: { drive?: string; force?: boolean } = {}) =>
  mediaOf(index).eject({ own, drive: more.drive, force: more.force ?? false }, never);

const refusal = (work: Promise<unknown>): Promise<Fault> =>
  work.then(
    () => {
      throw new Error('it was not refused');
    },
    (error: unknown) => {
      if (error instanceof Fault) return error;
      throw error;
    },
  );

describe('virtual media', () => {
  it.each([
    [older, 'Cd'],
    [newer, 'Cd'],
    [sparse, 'RemoteCd'],
    [openbmc, 'Slot_1'],
  ])('of service %i are inserted into drive %s and ejected', async (index, drive) => {
    const kept: Kept = { own: undefined };
    const inserted = await insert(index, {}, kept);
    expect(inserted).toMatchObject({ id: drive, isInserted: true, isOwn: true });
    expect(inserted.image).toBe('http://10.9.8.7/boot/media/.../boot.iso');
    expect(await images(index)).toEqual({ [drive]: url });
    const listed = await mediaOf(index).list(kept.own, never);
    expect(JSON.stringify(listed)).not.toContain(secret);
    expect(listed.filter(({ isOwn }) => isOwn).map(({ id }) => id)).toEqual([drive]);
    expect((await eject(index, kept.own)).map(({ id }) => id)).toEqual([drive]);
    expect(await images(index)).toEqual({});
    expect(await eject(index, kept.own)).toEqual([]);
    expect((await lab.state(index)).missed).toEqual([]);
  });

  it('are not inserted twice, and replace only what muster inserted', async () => {
    const kept: Kept = { own: undefined };
    await insert(older, {}, kept);
    const posts = async () => (await lab.state(older)).requests.filter((each) => each.startsWith('POST')).length;
    const before = await posts();
    await insert(older, {}, kept);
    expect(await posts()).toBe(before);
    await insert(older, { url: 'http://10.9.8.7/next.iso' }, kept);
    expect(await images(older)).toEqual({ Cd: 'http://10.9.8.7/next.iso' });
  });

  it('of others stay: another drive is taken, and force alone ejects them', async () => {
    await lab.fault(older, { medium: { drive: 'Cd', image: foreign } });
    const kept: Kept = { own: undefined };
    expect((await insert(older, {}, kept)).id).toBe('Cd2');
    expect(await images(older)).toEqual({ Cd: foreign, Cd2: url });
    await eject(older, kept.own);
    expect(await images(older)).toEqual({ Cd: foreign });
    for (const work of [insert(older, { drive: 'cd' }), eject(older, undefined), eject(older, kept.own)]) {
      const fault = await refusal(work);
      expect(fault.kind).toBe('conflict');
      expect(fault.message).toContain(foreign);
    }
    await lab.fault(older, { medium: { drive: 'Cd2', image: foreign } });
    expect((await refusal(insert(older))).kind).toBe('conflict');
    expect(await images(older)).toEqual({ Cd: foreign, Cd2: foreign });
    await insert(older, { force: true });
    expect(await images(older)).toEqual({ Cd: url, Cd2: foreign });
    await eject(older, undefined, { drive: 'Cd2', force: true });
    expect(await images(older)).toEqual({ Cd: url });
  });

  it('go into no drive for USB sticks alone, and into none that is not there', async () => {
    expect((await refusal(insert(older, { drive: 'Usb' }))).message).toContain('Usb (USBStick, Floppy), Cd (CD, DVD)');
    expect((await refusal(insert(openbmc, { drive: 'Slot_0' }))).message).toContain('no drive "Slot_0"');
    expect((await refusal(insert(enclosure))).message).toContain('no virtual media');
    expect((await refusal(eject(older, undefined, { drive: 'Dvd' }))).message).toContain('no drive "Dvd"');
  });

  it.each(['members', 'protocol'] as const)('are inserted where the service is particular about %s', async (wants) => {
    await lab.fault(older, { media: { wants } });
    await insert(older);
    expect(await images(older)).toEqual({ Cd: url });
  });

  it('are known as its own where the service hides addresses', async () => {
    await lab.fault(newer, { media: { hides: true } });
    const kept: Kept = { own: undefined };
    await insert(newer, {}, kept);
    expect((await eject(newer, kept.own)).map(({ id }) => id)).toEqual(['Cd']);
  });
});

describe('a BMC that fails at it', () => {
  it('refuses an image that it cannot fetch, and no error gives the address away', async () => {
    await lab.fault(older, { media: { fetches: true } });
    const unreachable = `http://127.0.0.1:9/boot/media/${secret}/boot.iso`;
    const fault = await refusal(insert(older, { url: unreachable }));
    expect(fault.message).toContain('cannot be fetched');
    expect(fault.message).not.toContain(secret);
    expect(await images(older)).toEqual({});
  });

  it('dies behind the order, and the next call finds what it did', async () => {
    await lab.fault(older, { at: { method: 'POST', path: 'InsertMedia', when: 'after', does: 'die' } });
    const kept: Kept = { own: undefined };
    await refusal(insert(older, {}, kept));
    expect(kept.own).toEqual({ drive: 'Cd', url });
    await lab.fault(older, { at: false, dead: false });
    expect(await insert(older, {}, kept)).toMatchObject({ id: 'Cd', isOwn: true });
    expect(await images(older)).toEqual({ Cd: url });
    await lab.fault(older, { at: { method: 'POST', path: 'EjectMedia', when: 'before', does: 'die' } });
    await refusal(eject(older, kept.own));
    await lab.fault(older, { at: false, dead: false });
    await eject(older, kept.own);
    expect(await images(older)).toEqual({});
  });

  it('dies before the order: nothing is inserted, and what was kept hinders nothing', async () => {
    await lab.fault(newer, { at: { method: 'POST', path: 'InsertMedia', when: 'before', does: 'die' } });
    const kept: Kept = { own: undefined };
    await refusal(insert(newer, {}, kept));
    await lab.fault(newer, { at: false, dead: false });
    expect(await eject(newer, kept.own)).toEqual([]);
    await insert(newer, {}, kept);
    expect(await images(newer)).toEqual({ Cd: url });
  });

  it('shows what it has taken only later', async () => {
    await lab.fault(older, { media: { takes: 300 } });
    expect(await insert(older)).toMatchObject({ id: 'Cd', isInserted: true });
  });

  it('accepts an image or an order to eject, and does nothing', async () => {
    await lab.fault(older, { media: { forgetful: true } });
    expect((await refusal(insert(older))).message).toContain('is still empty');
    await lab.fault(older, { media: { stuck: true } });
    const kept: Kept = { own: undefined };
    await insert(older, {}, kept);
    expect((await refusal(eject(older, kept.own))).message).toContain('is not empty');
  });

  it.each([{ garbage: true }, { dead: 'refused' as const }])('answers %j: nothing is kept', async (faults) => {
    await lab.fault(sparse, faults);
    const kept: Kept = { own: undefined };
    await refusal(insert(sparse, {}, kept));
    expect(kept.own).toBeUndefined();
  });
});
