import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Capabilities } from '../../../src/drivers/capabilities.ts';
import type { Driver } from '../../../src/drivers/driver.ts';
import { ipmiDriver } from '../../../src/drivers/ipmi/index.ts';
import { labAccounts } from '../../lab/addresses.ts';
import { type BmcLab, startBmcs } from '../../lab/bmc.ts';
import { ipmitool } from './ipmitool.ts';

const { signal } = new AbortController();
let lab: BmcLab;
let driver: Driver;

beforeAll(async () => {
  lab = await startBmcs({ count: 2, prefix: '127.131' });
  driver = ipmiDriver({ ipmiTimeout: 3_000 });
});
afterAll(async () => {
  await driver?.close();
  await lab?.stop();
});

const of = (index: number, account: { username: string; password: string } = labAccounts.administrator) =>
  (
    driver.connect({
      node: `n${index}`,
      address: lab.addresses[index]!,
      port: undefined,
      ...account,
    }) as Required<Capabilities>
  ).accounts;
const tool = (account: { username: string; password: string }, ...words: string[]) =>
  ipmitool(lab.addresses[0]!, account, ...words);

describe('accounts of an IPMI BMC', () => {
  it('are those that ipmitool shows', async () => {
    expect((await of(0).list(signal)).map(({ id, name, role }) => [id, name, role])).toEqual([
      ['2', 'admin', 'administrator'],
      ['3', 'oper', 'operator'],
      ['4', 'viewer', 'readonly'],
    ]);
    expect(await tool(labAccounts.administrator, 'user', 'list', '1')).toMatch(/^2\s+admin\s.*ADMINISTRATOR/m);
  });

  it('are made, changed and removed, as ipmitool sees it too', async () => {
    const accounts = of(0);
    await accounts.add({ name: 'audit', password: 'first-Secret-001', role: 'readonly' }, signal);
    const shown = await tool(labAccounts.administrator, 'user', 'list', '1');
    expect(shown).toMatch(/^\d+\s+audit\s.*USER/m);
    const login = { username: 'audit', password: 'first-Secret-001' };
    expect(await tool(login, '-L', 'USER', 'mc', 'guid')).toMatch(/GUID/i);
    expect(await accounts.letsIn('audit', 'first-Secret-001', signal)).toBe(true);
    expect(await accounts.letsIn('audit', 'other', signal)).toBe(false);
    await accounts.change('audit', { role: 'operator', password: 'second-Secret-02' }, signal);
    expect(await accounts.letsIn('audit', 'first-Secret-001', signal)).toBe(false);
    expect((await accounts.list(signal)).find(({ name }) => name === 'audit')).toMatchObject({ role: 'operator' });
    await accounts.change('audit', { enabled: false }, signal);
    expect(await accounts.letsIn('audit', 'second-Secret-02', signal)).toBe(false);
    await accounts.change('audit', { enabled: true }, signal);
    expect(await accounts.letsIn('audit', 'second-Secret-02', signal)).toBe(true);
    await accounts.remove('audit', signal);
    expect(await tool(labAccounts.administrator, 'user', 'list', '1')).not.toMatch(/audit/);
    expect(await accounts.letsIn('audit', 'second-Secret-02', signal)).toBe(false);
  });

  it('are not changed by who is no administrator', async () => {
    const accounts = of(0, labAccounts.operator);
    await expect(accounts.change('viewer', { role: 'administrator' }, signal)).rejects.toMatchObject({
      kind: 'invalid',
    });
    expect((await of(0).list(signal)).find(({ name }) => name === 'viewer')).toMatchObject({ role: 'readonly' });
  });

  it.each([
    [{ name: 'seventeen-letters', password: 'x', role: 'readonly' }, /1 to 16 ASCII characters/],
    [{ name: 'audit', password: 'x'.repeat(21), role: 'readonly' }, /1 to 20 bytes, and this one has 21/],
    [{ name: 'oper', password: 'x', role: 'readonly' }, /has an account "oper" already/],
  ] as const)('that cannot be made are refused: %j', async (account, sentence) => {
    await expect(of(0).add(account, signal)).rejects.toMatchObject({ message: expect.stringMatching(sentence) });
  });

  it('a BMC that has stopped answering is no wrong password', async () => {
    await lab.fault(1, { loss: 100 });
    await expect(of(1).letsIn('admin', 'secret', signal)).rejects.toMatchObject({
      message: expect.stringMatching(/did not answer/),
    });
    await lab.fault(1, { loss: 0 });
  });
});
