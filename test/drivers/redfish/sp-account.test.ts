import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Capabilities } from '../../../src/drivers/capabilities.ts';
import type { Driver } from '../../../src/drivers/driver.ts';
import { redfishDriver } from '../../../src/drivers/redfish/index.ts';
import { accessTo, type RedfishLab, startRedfish } from '../../lab/redfish.ts';
import { memoryTrust } from '../../protocols/redfish/memory-trust.ts';

const signal = new AbortController().signal;
const kinds = ['plain', 'sparse', 'enclosure'] as const;
const [plain, slots, enclosure] = [0, 1, 2];

let lab: RedfishLab;
let driver: Driver;

beforeAll(async () => {
  lab = await startRedfish({ count: kinds.length, prefix: '127.129', port: 8_452, kinds });
});
afterAll(() => lab?.stop());
beforeEach(() => {
  driver = redfishDriver({ trust: memoryTrust(), powerTimeout: 5_000 });
});
afterEach(() => driver.close());

const of = (index: number) => driver.connect(accessTo(lab, index)) as Required<Capabilities>;
const set = (index: number, settings: Readonly<Record<string, string>>) =>
  of(index).serviceProcessor.set(settings, signal);
const inLab = async (index: number, name: string) =>
  (await lab.state(index)).accounts.find(({ username }) => username === name);
const idOf = async (index: number, name: string) =>
  (await of(index).accounts.list(signal)).find((account) => account.name === name)!.id;

describe('settings of an account', () => {
  it.each([
    [{ userid: 'ID' }, /give username, password or both together with userid/],
    [{ username: 'oper' }, /give password together with username, or userid/],
    [{ password: 'Leak-Me-01' }, /give userid or username with the password/],
    [{ userid: 'ID', password: '' }, /the password is empty/],
    [{ userid: 'ID', username: '' }, /the username must have 1 to 64 characters/],
    [{ userid: 'ID', password: 'Leak-Me-'.repeat(3) }, /wants a password of 4 to 20 characters, and this one has 24/],
    [
      { userid: 'ID', username: 'viewer', password: 'Leak-Me-01' },
      /has an account "viewer" already, with the userid \S+3/,
    ],
    [
      { userid: '99', username: 'fred', password: 'Leak-Me-01' },
      /no account for userid "99"; .* \(oper\).* leave out userid/,
    ],
    [{ userid: 'ID', password: 'Leak-Me-01', hostname: 'bad_name!' }, /"bad_name!" is not a host name/],
    [{ hostname: 'good', userid: '99', password: 'Leak-Me-01' }, /no account for userid "99"/],
    [
      { username: 'admin', password: 'Leak-Me-01', ip: '127.129.0.99' },
      /set ip in one call and the account in another/,
    ],
  ])('%j are refused before anything is sent', async (given, sentence) => {
    const userid = 'userid' in given && given.userid === 'ID' ? { userid: await idOf(plain, 'oper') } : {};
    const { changes } = await lab.state(plain);
    const setting = set(plain, { ...(given as Record<string, string>), ...userid });
    await expect(setting).rejects.toMatchObject({ kind: 'invalid', message: expect.stringMatching(sentence) });
    await expect(setting).rejects.toMatchObject({ message: expect.not.stringContaining('Leak-Me') });
    expect((await lab.state(plain)).changes).toEqual(changes);
  });

  it('change the account with the userid in any order', async () => {
    const userid = await idOf(plain, 'oper');
    expect(await set(plain, { password: 'first-Secret1', username: 'oper2', userid })).toEqual({});
    expect(await inLab(plain, 'oper2')).toMatchObject({ password: 'first-Secret1', role: 'Operator', enabled: true });
    expect(await set(plain, { userid, username: 'oper' })).toEqual({});
    expect(await inLab(plain, 'oper')).toMatchObject({ password: 'first-Secret1' });
  });

  it.each([plain, slots, enclosure])('make a new account where none has the name (%i)', async (index) => {
    expect(await set(index, { username: 'fred', password: 'first-Secret1' })).toEqual({});
    expect(await inLab(index, 'fred')).toMatchObject({
      password: 'first-Secret1',
      role: 'Administrator',
      enabled: true,
    });
    await of(index).accounts.remove('fred', signal);
  });

  it('make a whole account of a place where nobody is, or none', async () => {
    const { accounts } = await lab.state(slots);
    const taken = await of(slots).accounts.list(signal);
    // The last place of the service; those that are taken come first.
    const userid = taken[0]!.id.replace(/\d$/, '7');
    expect(accounts.find(({ username }) => username === 'fred')).toBeUndefined();
    for (const half of [{ username: 'fred' }, { password: 'first-Secret1' }])
      await expect(set(slots, { userid, ...half })).rejects.toMatchObject({
        message: expect.stringMatching(/nobody at userid \S+7 yet: give username and password, both/),
      });
    await set(slots, { userid, username: 'fred', password: 'first-Secret1' });
    expect(await inLab(slots, 'fred')).toMatchObject({ role: 'Administrator', password: 'first-Secret1' });
    expect(await idOf(slots, 'fred')).toBe(userid);
    await of(slots).accounts.remove('fred', signal);
  });

  it('whose password the BMC cuts are an error', async () => {
    await lab.fault(enclosure, { passwordKept: 6 });
    await expect(set(enclosure, { username: 'oper', password: 'first-Secret1' })).rejects.toMatchObject({
      message: expect.stringMatching(/accepted the password of "oper" but does not let it in/),
    });
  });

  it('that are refused say what had been set before', async () => {
    await lab.fault(enclosure, { refusesPasswords: true });
    await expect(
      set(enclosure, { hostname: 'early', username: 'viewer', password: 'first-Secret1' }),
    ).rejects.toMatchObject({ message: expect.stringMatching(/Before that, hostname had been set\.$/) });
    await lab.fault(enclosure, { refusesPasswords: false });
    expect(await of(enclosure).serviceProcessor.get('hostname', signal)).toEqual({ 'BMC Hostname': 'early' });
  });

  it('of the account that muster uses say what to do, unless they are what it knows', async () => {
    expect(await set(enclosure, { username: 'admin', password: 'secret' })).toEqual({});
    expect(await set(enclosure, { userid: await idOf(enclosure, 'admin'), password: 'own-Secret1' })).toEqual({
      Message: [expect.stringMatching(/set bmcpassword of the node/)],
    });
  });
});
