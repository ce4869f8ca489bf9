import { describe, expect, it } from 'vitest';
import { Fault, Unreachable } from '../../../src/core/errors.ts';
import { lengthFor, newPassword } from '../../../src/drivers/rotation/new-password.ts';
import { settle } from '../../../src/drivers/rotation/settle.ts';

const { signal } = new AbortController();
const pause = async (): Promise<void> => {};

describe('a new password', () => {
  it.each([12, 16, 20, 64])('of %d characters has all kinds of them, and no character twice in a row', (length) => {
    for (let i = 0; i < 50; i++) {
      const text = newPassword(length);
      expect(text).toHaveLength(length);
      expect(text).toMatch(/^(?=.*[A-Z])(?=.*[a-z])(?=.*\d)(?=.*[-_.])[A-Za-z][\w.-]+$/);
      expect(text).not.toMatch(/(.)\1/);
    }
  });

  it.each([
    [{ least: 1, most: 20 }, undefined, 16],
    [{ least: 8, most: 14 }, undefined, 14],
    [{ least: 18, most: 40 }, undefined, 18],
    [{ least: 8, most: 40 }, 32, 32],
  ])('is as long as the BMC takes it: %j, wanted %s', (accepted, wanted, length) => {
    expect(lengthFor(accepted, wanted)).toBe(length);
  });

  it.each([
    [{ least: 1, most: 10 }, undefined],
    [{ least: 8, most: 16 }, 20],
    [{ least: 20, most: 40 }, 16],
  ])('that a BMC does not take is refused: %j, wanted %s', (accepted, wanted) => {
    expect(() => lengthFor(accepted, wanted)).toThrow(/takes passwords of/);
  });
});

/** A BMC that has a password; what happens when it is asked. */
function bmcWith(password: string, { cut = 99, session = true, silences = 0 } = {}) {
  const state = { password, tries: 0 };
  const knows = 'the-one-before';
  const accounts = {
    own: 'admin',
    async letsIn(_name: string, given = knows) {
      state.tries++;
      if (silences-- > 0) throw new Unreachable('its BMC did not answer.');
      return given === state.password;
    },
    async setOwnPassword(given = knows, _signal?: AbortSignal, by?: string) {
      if (by === undefined ? !session : by !== state.password)
        throw new Fault('invalid', 'its BMC does not accept user "admin".');
      state.password = given.slice(0, cut);
    },
  };
  return { state, settled: (attempt = 0) => settle(accounts, 'The-new-1-of-ours', attempt, pause, signal) };
}

describe('which password counts', () => {
  it.each([
    ['The-new-1-of-ours', {}, 'new', 'The-new-1-of-ours'],
    ['the-one-before', {}, 'old', 'the-one-before'],
    ['The-new-1-of-our', {}, 'restored', 'the-one-before'],
    ['The-new-1-of', { session: false }, 'restored', 'the-one-before'],
    ['The-new-', { session: false }, 'restored', 'the-one-before'],
    ['The-new-1-of-ours', { silences: 3 }, 'new', 'The-new-1-of-ours'],
  ] as const)('at a BMC with %s, %j: %s', async (password, more, expected, after) => {
    const { state, settled } = bmcWith(password, more);
    expect(await settled()).toBe(expected);
    expect(state.password).toBe(after);
  });

  it('is not known of a BMC that does not answer, and nothing is set', async () => {
    const { state, settled } = bmcWith('The-new-1-of-ours', { silences: 99 });
    await expect(settled()).rejects.toThrow(/did not answer/);
    expect(state.password).toBe('The-new-1-of-ours');
  });

  it('is not known where somebody else has set a third one, and a bounded number of logins was tried', async () => {
    const { state, settled } = bmcWith('of-somebody-else', { session: false });
    await expect(settled()).rejects.toThrow(/neither the new password nor the one before/);
    expect(state).toMatchObject({ password: 'of-somebody-else' });
    expect(state.tries).toBeLessThan(12);
  });
});
