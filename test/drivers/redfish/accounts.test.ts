import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Capabilities } from '../../../src/drivers/capabilities.ts';
import type { Driver } from '../../../src/drivers/driver.ts';
import { redfishDriver } from '../../../src/drivers/redfish/index.ts';
import type { RedfishKind } from '../../lab/redfish/protocol.ts';
import { accessTo, type RedfishLab, startRedfish } from '../../lab/redfish.ts';
import { memoryTrust } from '../../protocols/redfish/memory-trust.ts';

const signal = new AbortController().signal;
const kinds: readonly RedfishKind[] = ['plain', 'plain', 'sparse', 'openbmc', 'enclosure'];

let lab: RedfishLab;
let driver: Driver;

beforeAll(async () => {
  lab = await startRedfish({ count: kinds.length, prefix: '127.130', port: 8_449, kinds });
});
afterAll(() => lab.stop());
beforeEach(() => {
  driver = redfishDriver({ trust: memoryTrust(), powerTimeout: 5_000 });
});
afterEach(async () => {
  await driver.close();
  for (const index of kinds.keys()) await lab.fault(index, { refusesPasswords: false, passwordKept: 0 });
});

const of = (index: number, account: { username?: string; password?: string } = {}) =>
  (driver.connect({ ...accessTo(lab, index), ...account }) as Required<Capabilities>).accounts;

const inLab = async (index: number, name: string) =>
  (await lab.state(index)).accounts.find(({ username }) => username === name);

/** Two plain services: one wants an ETag with every change. */
describe.each([...kinds.entries()])('accounts of service %d (%s)', (index) => {
  it('are listed by name with their roles, and without places where nobody is', async () => {
    expect((await of(index).list(signal)).map(({ name, role, enabled }) => [name, role, enabled])).toEqual([
      ['admin', 'administrator', true],
      ['oper', 'operator', true],
      ['viewer', 'readonly', true],
    ]);
  });

  it('are made, changed and removed', async () => {
    const accounts = of(index);
    await accounts.add({ name: 'audit', password: 'first-Secret1', role: 'readonly' }, signal);
    expect(await inLab(index, 'audit')).toMatchObject({ role: 'ReadOnly', password: 'first-Secret1', enabled: true });
    expect(await accounts.letsIn('audit', 'first-Secret1', signal)).toBe(true);
    expect(await accounts.letsIn('audit', 'another-Secret', signal)).toBe(false);
    await expect(
      accounts.add({ name: 'audit', password: 'first-Secret1', role: 'operator' }, signal),
    ).rejects.toMatchObject({ message: expect.stringMatching(/has an account "audit" already/) });
    await accounts.change('audit', { role: 'operator', password: 'second-Secret2' }, signal);
    expect(await inLab(index, 'audit')).toMatchObject({ role: 'Operator', password: 'second-Secret2' });
    await accounts.change('audit', { enabled: false }, signal);
    expect(await accounts.letsIn('audit', 'second-Secret2', signal)).toBe(false);
    await accounts.remove('audit', signal);
    expect(await inLab(index, 'audit')).toBeUndefined();
    await expect(accounts.remove('audit', signal)).rejects.toMatchObject({
      message: expect.stringMatching(/no account "audit"; it has admin, oper, viewer/),
    });
  });

  it('with a password that is refused are not there afterwards', async () => {
    await lab.fault(index, { refusesPasswords: true });
    const adding = of(index).add({ name: 'audit', password: 'first-Secret1', role: 'readonly' }, signal);
    await expect(adding).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.not.stringContaining('first-Secret1'),
    });
    expect(await inLab(index, 'audit')).toBeUndefined();
  });

  it('whose password was cut are said to let nobody in', async () => {
    await lab.fault(index, { passwordKept: 6 });
    await expect(
      of(index).add({ name: 'audit', password: 'first-Secret1', role: 'readonly' }, signal),
    ).rejects.toMatchObject({ message: expect.stringMatching(/does not let it in/) });
    await of(index).remove('audit', signal);
  });

  it('may be listed, not changed, by an operator', async () => {
    const accounts = of(index, { username: 'oper', password: 'operpw' });
    expect(await accounts.list(signal)).toHaveLength(3);
    await expect(accounts.change('viewer', { role: 'administrator' }, signal)).rejects.toMatchObject({
      message: expect.stringMatching(/does not allow user "oper"/),
    });
  });
});

it('a password outside the length that the service says is not sent', async () => {
  const { changes } = await lab.state(0);
  await expect(of(0).change('viewer', { password: 'x'.repeat(21) }, signal)).rejects.toMatchObject({
    message: expect.stringMatching(/wants a password of 4 to 20 characters, and this one has 21/),
  });
  expect((await lab.state(0)).changes).toEqual(changes);
});

it('a service whose places are all taken says so', async () => {
  const accounts = of(2);
  const names = ['a1', 'a2', 'a3', 'a4', 'a5'];
  for (const name of names) await accounts.add({ name, password: 'first-Secret1', role: 'readonly' }, signal);
  await expect(accounts.add({ name: 'a6', password: 'first-Secret1', role: 'readonly' }, signal)).rejects.toMatchObject(
    { kind: 'invalid' },
  );
  for (const name of names) await accounts.remove(name, signal);
});

it('logins that are tried leave no sessions', async () => {
  const before = (await lab.state(1)).openSessions;
  const accounts = of(1);
  expect(await accounts.letsIn('viewer', 'viewpw', signal)).toBe(true);
  expect(await accounts.letsIn('viewer', 'wrong', signal)).toBe(false);
  expect((await lab.state(1)).openSessions).toBe(before);
});

it('a login that nobody answers is no wrong password', async () => {
  await lab.fault(0, { dead: 'refused' });
  await expect(of(0).letsIn('admin', 'secret', signal)).rejects.toMatchObject({
    message: expect.stringMatching(/nothing listens/),
  });
  await lab.fault(0, { dead: false });
});
