import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import { Draft, redacted } from '../../src/database/draft.ts';
import { keyOf, tableNamed } from '../../src/database/tables.ts';
import { plainSeal } from '../harness/random-changes.ts';
import { snapshotOf } from '../harness/snapshot.ts';

const base = snapshotOf({
  nodehm: [{ node: 'n1', mgt: 'ipmi' }],
  ipmi: [{ node: 'n1', bmc: 'b1', password: 'sealed old' }],
  networks: [
    { net: '10.0.0.0', mask: '255.0.0.0', netname: 'a' },
    { net: '11.0.0.0', mask: '255.0.0.0', netname: 'b' },
  ],
  passwd: [{ key: 'system', password: 'sealed p' }],
});
const draft = () => new Draft(base, plainSeal);
const networkKey = (net: string) => keyOf(tableNamed('networks'), { net, mask: '255.0.0.0' });

describe('a draft', () => {
  test('shows what was put into it, and its base stays as it is', () => {
    const one = draft();
    one.merge('nodehm', 'n1', { cons: 'ipmi' });
    one.merge('nodehm', 'n2', { node: 'n2', mgt: 'kvm' });
    one.remove('ipmi', 'n1');
    expect(one.get('nodehm', 'n1')).toEqual({ node: 'n1', mgt: 'ipmi', cons: 'ipmi' });
    expect(one.get('ipmi', 'n1')).toBeUndefined();
    expect(one.snapshot().get('nodehm', 'n2')).toEqual({ node: 'n2', mgt: 'kvm' });
    expect(one.snapshot().revision).toBe(base.revision);
    expect(base.get('nodehm', 'n1')).toEqual({ node: 'n1', mgt: 'ipmi' });
    expect(base.get('ipmi', 'n1')).toBeDefined();
  });

  test('leaves out what changes nothing', () => {
    const one = draft();
    one.merge('nodehm', 'n1', { mgt: 'ipmi' });
    one.merge('nodehm', 'n1', { cons: 'x' });
    one.merge('nodehm', 'n1', { cons: undefined });
    one.merge('nodehm', 'n3', { node: 'n3' });
    one.remove('nodehm', 'n3');
    one.remove('nodehm', 'absent');
    expect(one.changes()).toEqual([]);
  });

  test('its view is made again after a further change', () => {
    const one = draft();
    one.merge('nodehm', 'n1', { cons: 'x' });
    expect(one.snapshot().get('nodehm', 'n1')?.['cons']).toBe('x');
    one.merge('nodehm', 'n1', { cons: 'y' });
    expect(one.snapshot().get('nodehm', 'n1')?.['cons']).toBe('y');
  });

  test('moves a row whose key columns change', () => {
    const one = draft();
    one.merge('networks', networkKey('10.0.0.0'), { net: '12.0.0.0' });
    expect(one.get('networks', networkKey('10.0.0.0'))).toBeUndefined();
    expect(one.get('networks', networkKey('12.0.0.0'))).toEqual({ net: '12.0.0.0', mask: '255.0.0.0', netname: 'a' });
    expect(one.changes()).toHaveLength(2);
  });

  test('refuses a key that another row has', () => {
    expect(() => draft().merge('networks', networkKey('10.0.0.0'), { net: '11.0.0.0' })).toThrow(
      'already has a row with net=11.0.0.0,mask=255.0.0.0',
    );
  });

  test('an empty key column is the same as an unset one', () => {
    const one = draft();
    one.merge('passwd', keyOf(tableNamed('passwd'), { key: 'system' }), { username: '' });
    expect(one.changes()).toEqual([]);
  });

  test.each([
    ['a column the table has not', () => draft().merge('nodehm', 'n1', { bogus: '1' })],
    ['a table there is not', () => draft().merge('bogus', 'n1', { node: 'n1' })],
    ['an invalid value', () => draft().merge('hosts', 'n1', { node: 'n1', ip: 'nowhere' })],
    ['a control character in a secret', () => draft().merge('ipmi', 'n1', { password: 'a\nb' })],
  ])('refuses %s', (_title, attempt) => {
    expect(attempt).toThrow(Fault);
  });
});

describe('a secret column', () => {
  const after = (password: string | undefined, node = 'n1') => {
    const one = draft();
    one.merge('ipmi', node, { node, bmc: 'b', password });
    return one.get('ipmi', node)?.['password'];
  };

  test.each([
    ['is sealed on the way in', 'new', 'n1', 'sealed new'],
    ['stays as it is when what reads show is written back', redacted, 'n1', 'sealed old'],
    ['stays unset when what reads show is written to a row without it', redacted, 'n2', undefined],
    ['is cleared by empty text', '', 'n1', ''],
    ['is unset', undefined, 'n1', undefined],
  ])('%s', (_title, value, node, stored) => {
    expect(after(value, node)).toBe(stored);
  });

  test('a refusal does not quote it', () => {
    expect(() => after('topsecret\n')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('topsecret') }),
    );
  });
});

describe('a draft without a seal', () => {
  const unsealed = () => new Draft(base);

  test('refuses a secret instead of keeping it in clear', () => {
    const one = unsealed();
    expect(() => one.merge('ipmi', 'n1', { bmc: 'b2', password: 'clear' })).toThrow(
      'ipmi.password is secret, and this change set has no seal.',
    );
    expect(one.changes()).toEqual([]);
  });

  test('takes all else, and leaves or clears the secret that is there', () => {
    const one = unsealed();
    one.merge('ipmi', 'n1', { bmc: 'b2', password: redacted });
    expect(one.get('ipmi', 'n1')).toEqual({ node: 'n1', bmc: 'b2', password: 'sealed old' });
    one.merge('ipmi', 'n1', { password: '' });
    expect(one.get('ipmi', 'n1')).toEqual({ node: 'n1', bmc: 'b2', password: '' });
  });
});
