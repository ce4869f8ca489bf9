import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Account, Logins } from '../../src/access/logins.ts';
import { throttleLimits } from '../../src/access/throttle.ts';

const hash = '$1$abcdefgh$y6iHhJNbuC0xpbk0w9pm80';
const root: Account = { name: 'root', stored: hash };
const refused = { kind: 'unauthenticated', sentences: ['Authentication failure'] };
const here = '10.0.0.1';

/** Stands in for crypt: takes 20 ms and accepts the word `right`. */
function setUp() {
  const checked: [clear: string, stored: string][] = [];
  const verify = async (clear: string, stored: string) => {
    checked.push([clear, stored]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    return clear === 'right';
  };
  const logins = new Logins({ now: () => Date.now(), verify });
  return { logins, checked };
}

/** Runs the clock until the outcome is there, and says how long that took. */
async function timed(outcome: unknown): Promise<{ result: unknown; took: number }> {
  const start = Date.now();
  let took = -1;
  const settled = Promise.resolve(outcome)
    .catch((error: unknown) => error)
    .finally(() => {
      took = Date.now() - start;
    });
  while (took < 0) await vi.advanceTimersByTimeAsync(1);
  return { result: await settled, took };
}

/** A check whose immediate refusal becomes a value too. */
function attempt(
  logins: Logins,
  name: string,
  password: string,
  address = here,
  account: Account | undefined = root,
): unknown {
  try {
    return logins.check(name, password, address, account, true, {});
  } catch (error) {
    return error;
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a right password', () => {
  test('is computed once and then answered at once', async () => {
    const { logins, checked } = setUp();
    expect((await timed(attempt(logins, 'root', 'right'))).result).toEqual({ how: 'password', stored: hash });
    expect(attempt(logins, 'root', 'right')).toEqual({ how: 'password', stored: hash });
    expect(attempt(logins, 'root', 'right', '10.9.9.9')).toEqual({ how: 'password', stored: hash });
    expect(checked).toHaveLength(1);
  });

  test('is computed again when the stored hash has changed', async () => {
    const { logins, checked } = setUp();
    await timed(attempt(logins, 'root', 'right'));
    const changed = { name: 'root', stored: '$1$other$y6iHhJNbuC0xpbk0w9pm80' };
    expect(attempt(logins, 'root', 'right', here, changed)).toBeInstanceOf(Promise);
    await vi.advanceTimersByTimeAsync(20);
    expect(checked.map(([, stored]) => stored)).toEqual([hash, changed.stored]);
  });

  test('is not remembered for another account with the same hash', async () => {
    const { logins } = setUp();
    await timed(attempt(logins, 'root', 'right'));
    const other = attempt(logins, 'bob', 'right', here, { name: 'bob', stored: hash });
    expect(other).toBeInstanceOf(Promise);
    await timed(other);
  });

  test('is forgotten after a quarter of an hour', async () => {
    const { logins, checked } = setUp();
    await timed(attempt(logins, 'root', 'right'));
    await vi.advanceTimersByTimeAsync(15 * 60_000);
    await timed(attempt(logins, 'root', 'right'));
    expect(checked).toHaveLength(2);
  });

  test('sent by many requests at the same time is computed once for all', async () => {
    const { logins, checked } = setUp();
    const all = Promise.all(Array.from({ length: 500 }, () => attempt(logins, 'root', 'right')));
    const { result, took } = await timed(all);
    expect(new Set(result as unknown[])).toEqual(new Set([{ how: 'password', stored: hash }]));
    expect(took).toBe(20);
    expect(checked).toHaveLength(1);
  });
});

describe('the stored hash as password', () => {
  test('is accepted without a computation', () => {
    const { logins, checked } = setUp();
    expect(attempt(logins, 'root', hash)).toEqual({ how: 'hash', stored: hash });
    expect(checked).toHaveLength(0);
  });

  test('is refused when hash logins are off, also after they were on', async () => {
    const { logins } = setUp();
    expect(logins.check('root', hash, here, root, true, {})).toEqual({ how: 'hash', stored: hash });
    expect((await timed(logins.check('root', hash, here, root, false, {}))).result).toMatchObject(refused);
  });

  test.each(['plain', '*', '$ecret', '$6$salt'])('is refused when %j is stored, which is no hash', async (stored) => {
    const { logins } = setUp();
    expect((await timed(attempt(logins, 'root', stored, here, { name: 'root', stored }))).result).toMatchObject(
      refused,
    );
  });
});

describe('a wrong password', () => {
  test.each([
    ['', 'x'],
    ['root', ''],
    ['n'.repeat(257), 'x'],
    ['root', 'x'.repeat(600)],
  ])('name and password that cannot be are refused at once and not counted', async (name, password) => {
    const { logins, checked } = setUp();
    for (let i = 0; i < 200; i++) expect(attempt(logins, name, password)).toMatchObject(refused);
    expect(checked).toHaveLength(0);
    expect((await timed(attempt(logins, 'root', 'right'))).result).toEqual({ how: 'password', stored: hash });
  });

  test('is free three times, then each guess waits longer, at most eight seconds', async () => {
    const { logins } = setUp();
    const times: number[] = [];
    for (let i = 0; i < 11; i++) {
      const { result, took } = await timed(attempt(logins, 'root', `wrong${i}`));
      expect(result).toMatchObject(refused);
      times.push(took - 20);
    }
    expect(times).toEqual([0, 0, 0, 250, 500, 1000, 2000, 4000, 8000, 8000, 8000]);
  });

  test('makes the remembered right one wait as well, and only from the same address', async () => {
    const { logins } = setUp();
    await timed(attempt(logins, 'root', 'right'));
    for (let i = 0; i < 5; i++) await timed(attempt(logins, 'root', `wrong${i}`));
    expect(attempt(logins, 'root', 'right', '10.0.0.2')).toEqual({ how: 'password', stored: hash });
    const { result, took } = await timed(attempt(logins, 'root', 'right'));
    expect(result).toEqual({ how: 'password', stored: hash });
    expect(took).toBe(1000);
    expect(attempt(logins, 'root', 'right')).toEqual({ how: 'password', stored: hash });
  });

  test('does not slow down another account', async () => {
    const { logins } = setUp();
    for (let i = 0; i < 6; i++) await timed(attempt(logins, 'root', `wrong${i}`));
    const { took } = await timed(attempt(logins, 'bob', 'right', here, { name: 'bob', stored: hash }));
    expect(took).toBe(20);
  });

  test('a right one in between does not make further guesses cheap', async () => {
    const { logins } = setUp();
    for (let i = 0; i < 6; i++) {
      await timed(attempt(logins, 'root', `wrong${i}`));
      await timed(attempt(logins, 'root', 'right'));
    }
    await timed(attempt(logins, 'root', 'wrong6'));
    expect((await timed(attempt(logins, 'root', 'wrong7'))).took).toBe(4020);
  });

  test('is forgiven after five quiet minutes', async () => {
    const { logins } = setUp();
    for (let i = 0; i < 6; i++) await timed(attempt(logins, 'root', `wrong${i}`));
    await vi.advanceTimersByTimeAsync(throttleLimits.forgetAfter + 1);
    for (let i = 6; i < 9; i++) expect((await timed(attempt(logins, 'root', `wrong${i}`))).took).toBe(20);
    expect((await timed(attempt(logins, 'root', 'wrong9'))).took).toBe(270);
  });

  test('neighbours in one IPv6 /64 count as one address', async () => {
    const { logins } = setUp();
    for (let i = 0; i < 3; i++) await timed(attempt(logins, 'root', `wrong${i}`, `2001:db8::${i + 1}`));
    expect((await timed(attempt(logins, 'root', 'wrong3', '2001:db8::ff'))).took).toBe(270);
    expect((await timed(attempt(logins, 'root', 'wrong4', '2001:db8:0:1::1'))).took).toBe(20);
  });
});

describe('guesses sent at the same time', () => {
  test('are checked one after another, and too many are refused with a time to come back', async () => {
    const { logins, checked } = setUp();
    const answers = Array.from({ length: 50 }, (_, i) => attempt(logins, 'root', `wrong${i}`));
    const waiting = answers.filter((answer) => answer instanceof Promise);
    expect(waiting).toHaveLength(throttleLimits.waitingGuesses);
    for (const answer of answers.slice(throttleLimits.waitingGuesses)) {
      expect(answer).toMatchObject({ kind: 'unavailable', retryAfter: expect.any(Number) });
    }
    const { took } = await timed(Promise.allSettled(waiting));
    expect(took).toBe(4 * 20 + 250);
    expect(checked).toHaveLength(4);
  });

  test('get no early answer from what is remembered', async () => {
    const { logins } = setUp();
    await timed(attempt(logins, 'root', 'right'));
    const first = attempt(logins, 'root', 'wrong');
    const second = attempt(logins, 'root', 'right');
    expect(second).toBeInstanceOf(Promise);
    await timed(first);
    expect((await timed(second)).result).toEqual({ how: 'password', stored: hash });
  });

  test('equal ones share one check and count once', async () => {
    const { logins, checked } = setUp();
    const all = Array.from({ length: 20 }, () => attempt(logins, 'root', 'wrong'));
    const { result } = await timed(Promise.allSettled(all));
    expect((result as PromiseSettledResult<unknown>[]).every((one) => one.status === 'rejected')).toBe(true);
    expect(checked).toHaveLength(1);
    expect((await timed(attempt(logins, 'root', 'wrong2'))).took).toBe(20);
  });
});

describe('one address', () => {
  test('has a hundred failures a minute over all accounts, then is refused until the minute is over', async () => {
    const { logins, checked } = setUp();
    await timed(attempt(logins, 'root', 'right'));
    for (let i = 0; i < 100; i++) await timed(attempt(logins, `user${i}`, 'wrong'));
    expect(checked).toHaveLength(101);
    const full = attempt(logins, 'root', 'right');
    expect(full).toMatchObject({ kind: 'unavailable' });
    const { retryAfter } = full as { retryAfter: number };
    expect(retryAfter).toBe(58);
    expect(attempt(logins, 'root', 'right', '10.0.0.2')).toEqual({ how: 'password', stored: hash });
    await vi.advanceTimersByTimeAsync(retryAfter * 1000);
    expect(attempt(logins, 'root', 'right')).toEqual({ how: 'password', stored: hash });
  });

  test('gains nothing by sending them all at once', async () => {
    const { logins, checked } = setUp();
    const answers = Array.from({ length: 1000 }, (_, i) => attempt(logins, `user${i}`, 'wrong'));
    await timed(Promise.allSettled(answers.filter((answer) => answer instanceof Promise)));
    expect(checked).toHaveLength(100);
    expect(attempt(logins, 'user1001', 'wrong')).toMatchObject({ kind: 'unavailable' });
  });

  test('is not blamed for a check that could not be made', async () => {
    const busy = Object.assign(new Error('busy'), { kind: 'unavailable' });
    const logins = new Logins({ now: () => Date.now(), verify: () => Promise.reject(busy) });
    for (let i = 0; i < 200; i++) expect((await timed(attempt(logins, 'root', 'right'))).result).toBe(busy);
  });
});

describe('an unknown account', () => {
  test('costs a computation with the method of the accounts there are, and never succeeds', async () => {
    const { logins, checked } = setUp();
    const first = await timed(logins.check('nobody', 'right', here, undefined, true, {}));
    expect(first).toMatchObject({ result: refused, took: 20 });
    expect(checked[0]?.[1]).toMatch(/^\$(y|6)\$/);
    await timed(attempt(logins, 'root', 'right'));
    const second = await timed(logins.check('nobody', 'right', here, undefined, true, {}));
    expect(second).toMatchObject({ result: refused, took: 20 });
    expect(checked[2]?.[1]).toBe(hash);
  });

  test('is slowed down like a known one', async () => {
    const { logins } = setUp();
    const times: number[] = [];
    for (let i = 0; i < 5; i++)
      times.push((await timed(logins.check('nobody', `wrong${i}`, here, undefined, true, {}))).took);
    expect(times).toEqual([20, 20, 20, 270, 520]);
  });
});

test('works with libcrypt', async () => {
  vi.useRealTimers();
  const logins = new Logins();
  expect(await logins.check('root', 'correct horse', here, root, true, {})).toEqual({ how: 'password', stored: hash });
  expect(logins.check('root', 'correct horse', here, root, true, {})).toEqual({ how: 'password', stored: hash });
  await expect(logins.check('root', 'wrong', here, root, true, {})).rejects.toMatchObject(refused);
  await expect(logins.check('nobody', 'correct horse', here, undefined, true, {})).rejects.toMatchObject(refused);
});
