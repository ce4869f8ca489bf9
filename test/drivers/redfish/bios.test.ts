import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Capabilities } from '../../../src/drivers/capabilities.ts';
import type { Driver } from '../../../src/drivers/driver.ts';
import { redfishDriver } from '../../../src/drivers/redfish/index.ts';
import { type RedfishLab, startRedfish } from '../../lab/redfish.ts';
import { type BiosMakerName, biosMakerNames } from '../../lab/redfish/bios-makers.ts';
import { memoryTrust } from '../../protocols/redfish/memory-trust.ts';

const signal = new AbortController().signal;
const places = { twin: biosMakerNames.length, mute: biosMakerNames.length + 1 };

let lab: RedfishLab;
let driver: Driver;

beforeAll(async () => {
  lab = await startRedfish({
    count: biosMakerNames.length + 2,
    prefix: '127.114',
    port: 8_452,
    kinds: ['plain', 'plain', 'plain', 'plain', 'plain', 'plain', 'enclosure'],
    makers: [...biosMakerNames, 'dell', 'dell'],
    powerDelay: 10,
  });
  driver = redfishDriver({ trust: memoryTrust(), powerTimeout: 10_000, requestTimeout: 2_000 });
});
afterAll(async () => {
  await driver?.close();
  await lab?.stop();
});

const of = (place: BiosMakerName | keyof typeof places, account: { username?: string; password?: string } = {}) => {
  const index = place in places ? places[place as keyof typeof places] : biosMakerNames.indexOf(place as BiosMakerName);
  const access = { address: lab.addresses[index]!, port: lab.port, username: 'admin', password: 'secret', ...account };
  const capabilities = driver.connect({ node: place, ...access }) as Required<Capabilities>;
  return {
    ...capabilities,
    state: () => lab.state(index),
    fault: (faults: Parameters<RedfishLab['fault']>[1]) => lab.fault(index, faults),
  };
};

/** What was sent to the settings of a BIOS since then. */
async function sent(place: Parameters<typeof of>[0], since = 0) {
  const changes = (await of(place).state()).changes.filter(({ path }) => path.includes('/Bios'));
  return changes.slice(since).map(({ body }) => body as { Attributes: object });
}

describe('settings of each maker', () => {
  const cases = [
    { maker: 'dell', name: 'BootMode', text: 'Bios', value: 'Bios' },
    { maker: 'dell', name: 'AcPwrRcvryUserDelay', text: '240', value: 240 },
    { maker: 'hpe', name: 'WorkloadProfile', text: 'Custom', value: 'Custom' },
    { maker: 'hpe', name: 'AdminPhone', text: '555 (1)', value: '555 (1)' },
    { maker: 'lenovo', name: 'Memory_MirrorPercent', text: '20', value: 20 },
    { maker: 'supermicro', name: 'QuietBoot_002E', text: 'false', value: false },
    { maker: 'ami', name: 'PCIS007', text: 'PCIS007Enabled', value: 'PCIS007Enabled' },
    { maker: 'ami', name: 'TER001', text: 'true', value: true },
  ] as const;

  it.each(cases)('$maker: $name waits for a restart, is not sent twice, and is taken on', async (one) => {
    const { bios, power } = of(one.maker);
    const before = (await bios.read({}, signal)).current[one.name];
    const count = (await sent(one.maker)).length;
    expect(await bios.set({ [one.name]: one.text }, 'restart', signal)).toMatchObject({
      current: { [one.name]: before },
      pending: { [one.name]: one.text },
    });
    expect((await bios.read({}, signal)).pending).toEqual({ [one.name]: one.text });
    await bios.set({ [one.name]: one.text }, 'restart', signal);
    expect((await sent(one.maker, count)).map(({ Attributes }) => Attributes)).toEqual([{ [one.name]: one.value }]);
    await power.set('boot', signal);
    expect(await bios.read({ names: [one.name] }, signal)).toMatchObject({
      current: { [one.name]: one.text },
      pending: {},
    });
  });

  it.each(biosMakerNames)('%s: defaults come back at a restart', async (maker) => {
    const { bios, power } = of(maker);
    const changed = (await bios.read({}, signal)).current;
    expect(await bios.reset(signal)).toMatch(/return to their defaults when the machine restarts/);
    expect((await bios.read({}, signal)).notes).toContainEqual(expect.stringMatching(/return to their defaults/));
    await power.set('boot', signal);
    const { current, notes } = await bios.read({}, signal);
    expect(current).not.toEqual(changed);
    expect(notes).toEqual([]);
  });
});

describe('what settings take', () => {
  it('is read from the registry, without those that cannot be set', async () => {
    const dell = await of('dell').bios.read({ details: true }, signal);
    expect(dell.allowed).toEqual({
      BootMode: 'Uefi, Bios',
      LogicalProc: 'Enabled, Disabled',
      SysProfile: 'PerfPerWattOptimizedDapc, PerfOptimized, Custom',
      AssetTag: 'a text of 0 to 63 characters',
      AcPwrRcvryUserDelay: 'a whole number from 60 to 600',
    });
    expect(dell.own).toEqual(['AssetTag']);
    expect((await of('ami').bios.read({ details: true, names: ['PCIS007'] }, signal)).allowed).toEqual({
      PCIS007: 'PCIS007Disabled (Disabled), PCIS007Enabled (Enabled)',
    });
  });

  const refused: readonly [BiosMakerName, Record<string, string>, RegExp][] = [
    ['dell', { BootMode: 'UEFI' }, /^BootMode cannot be "UEFI": it takes Uefi, Bios\. Did you mean "Uefi"\? Nothing/],
    ['dell', { BotMode: 'Uefi' }, /has no setting "BotMode"\. Did you mean "BootMode"\?/],
    ['dell', { 'Boot Mode': 'Uefi' }, /has no setting "Boot Mode"\. Did you mean "BootMode"\?/],
    ['dell', { ProcTurboMode: 'Disabled' }, /^ProcTurboMode cannot be set: its BIOS says that it is read-only/],
    ['dell', { SystemServiceTag: 'X' }, /SystemServiceTag cannot be set: its BIOS says that it is immutable/],
    ['dell', { SetupPassword: 'hunter2' }, /^SetupPassword is a password, and muster sets no passwords of a BIOS/],
    ['dell', { AcPwrRcvryUserDelay: '59' }, /it takes a whole number from 60 to 600/],
    ['dell', { AssetTag: 'x'.repeat(64) }, /cannot be "x{64}": it takes a text of 0 to 63 characters/],
    ['hpe', { AsrTimeoutMinutes: '12' }, /it takes a whole number from 5 to 30 in steps of 5/],
    ['hpe', { AdminPhone: 'call me' }, /it takes a text of 0 to 14 characters that matches/],
    ['hpe', { SecureBootStatus: 'Disabled' }, /its BIOS says that it is greyed out/],
    ['supermicro', { QuietBoot_002E: 'on' }, /it takes true or false/],
    ['ami', { PCIS007: 'Enabled' }, /Did you mean "PCIS007Enabled"\?/],
  ];

  it.each(refused)('of %s: %j is refused, and nothing is sent', async (maker, values, sentence) => {
    const before = (await of(maker).state()).changes.length;
    const setting = of(maker).bios.set({ ...values }, 'restart', signal);
    await expect(setting).rejects.toMatchObject({ kind: 'invalid', message: expect.stringMatching(sentence) });
    await expect(setting).rejects.not.toMatchObject({ message: expect.stringMatching('hunter2') });
    expect((await of(maker).state()).changes.length).toBe(before);
  });

  it('all that is wrong is said at once', async () => {
    const setting = of('dell').bios.set({ BootMode: 'x', LogicalProc: 'y', SysProfile: 'Custom' }, 'restart', signal);
    await expect(setting).rejects.toMatchObject({
      sentences: [expect.stringMatching(/^BootMode/), expect.stringMatching(/^LogicalProc/), 'Nothing was changed.'],
    });
  });

  it('a setting that another one of the request makes free is left to the machine', async () => {
    const { bios, power } = of('twin');
    await bios.set({ SysProfile: 'Custom', ProcTurboMode: 'Disabled' }, 'restart', signal);
    expect(await sent('twin')).toEqual([
      {
        '@Redfish.SettingsApplyTime': { ApplyTime: 'OnReset' },
        Attributes: { SysProfile: 'Custom', ProcTurboMode: 'Disabled' },
      },
    ]);
    await power.set('boot', signal);
  });

  it('the registry is read once for machines of one model, and again before it refuses something', async () => {
    const reads = async () =>
      (await of('twin').state()).requests.filter((line) => line.endsWith('/BiosRegistry')).length;
    const before = await reads();
    await of('twin').bios.read({ details: true }, signal);
    expect(await reads()).toBe(before);
    await expect(of('twin').bios.set({ BootMode: 'x' }, 'restart', signal)).rejects.toThrow('BootMode cannot be');
    expect(await reads()).toBe(before + 1);
  });
});

describe('times', () => {
  it('now changes at once where the BIOS can', async () => {
    const { bios } = of('lenovo');
    expect(await bios.set({ BootModes_SystemBootMode: 'LegacyMode' }, 'now', signal)).toEqual({
      current: { BootModes_SystemBootMode: 'LegacyMode' },
      pending: {},
      notes: [],
    });
  });

  it.each(['dell', 'hpe'] as const)('now is refused by %s before anything is sent', async (maker) => {
    const before = (await sent(maker)).length;
    await expect(
      of(maker).bios.set({ BootMode: 'Bios', ...(maker === 'hpe' && { BootMode: 'LegacyBios' }) }, 'now', signal),
    ).rejects.toThrow(/changes no settings before it restarts/);
    expect(await sent(maker, before)).toEqual([]);
  });
});

describe('a BIOS that does not take everything', () => {
  beforeEach(async () => {
    for (const maker of ['dell', 'hpe'] as const) await of(maker).fault({ stubborn: [], forgetful: false });
  });

  it('and takes the rest is named with both', async () => {
    await of('hpe').fault({ stubborn: ['BootMode'] });
    const setting = of('hpe').bios.set({ BootMode: 'LegacyBios', ProcHyperthreading: 'Disabled' }, 'restart', signal);
    await expect(setting).rejects.toMatchObject({
      kind: 'invalid',
      sentences: [
        'its BIOS did not take BootMode: The property BootMode was not updated, because the BIOS has locked it.',
        'It took ProcHyperthreading, which waits for the next restart.',
      ],
    });
  });

  it('and refuses all of it is named with the reason', async () => {
    await of('dell').fault({ stubborn: ['BootMode'] });
    const setting = of('dell').bios.set({ BootMode: 'Bios', LogicalProc: 'Disabled' }, 'restart', signal);
    await expect(setting).rejects.toMatchObject({
      sentences: [
        expect.stringMatching(/^its BMC answered 400 to PATCH /),
        expect.stringMatching(/^its BIOS did not take BootMode: .* the BIOS has locked it\.$/),
        'Nothing was changed.',
      ],
    });
  });

  it('and says yes to what it drops is found out', async () => {
    await of('hpe').fault({ forgetful: true });
    await expect(of('hpe').bios.set({ BootMode: 'LegacyBios' }, 'restart', signal)).rejects.toMatchObject({
      sentences: ['its BMC accepted BootMode, but still shows "Uefi".', 'Nothing was changed.'],
    });
  });

  it('and has a job already says so', async () => {
    const { bios } = of('dell');
    await bios.set({ LogicalProc: 'Disabled' }, 'restart', signal);
    await expect(bios.set({ BootMode: 'Bios' }, 'restart', signal)).rejects.toThrow(
      /job is scheduled already; delete it/,
    );
  });
});

describe('faults', () => {
  it('an account that may only read is refused by the service', async () => {
    const viewer = of('lenovo', { username: 'viewer', password: 'viewpw' });
    expect((await viewer.bios.read({}, signal)).current).toHaveProperty('Memory_MirrorPercent');
    await expect(viewer.bios.set({ Memory_MirrorPercent: '50' }, 'restart', signal)).rejects.toThrow(
      /does not allow user "viewer" PATCH/,
    );
  });

  it('a service that does not answer, or nonsense, is an error and no change', async () => {
    const { bios, fault, state } = of('supermicro');
    const before = (await state()).changes.length;
    for (const faults of [{ garbage: true }, { dead: 'refused' }] as const) {
      await fault(faults);
      await expect(bios.set({ WatchDogTimeout_0031: '9' }, 'restart', signal)).rejects.toThrow(/BMC|listens/);
      await fault({ garbage: false, dead: false });
    }
    expect((await state()).changes.length).toBe(before);
  });

  it('one that was changed by others meanwhile is asked once more', async () => {
    const { bios, fault } = of('supermicro');
    await fault({ outdated: 1 });
    expect((await bios.set({ WatchDogTimeout_0031: '9' }, 'restart', signal)).pending).toEqual({
      WatchDogTimeout_0031: '9',
    });
  });

  it('a machine without such settings says so', async () => {
    await expect(of('mute').bios.read({}, signal)).rejects.toThrow('no computer system');
  });
});
