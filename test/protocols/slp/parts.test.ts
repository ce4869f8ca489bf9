import { describe, expect, it } from 'vitest';
import { defaultTiming, Queues, Rounds, Xids } from '../../../src/protocols/slp/asker.ts';
import { groups6, typeHash } from '../../../src/protocols/slp/message.ts';

/** The milliseconds of the rounds, if each brings news or not as told. */
function rounds(...news: boolean[]): (number | undefined)[] {
  const all = new Rounds(defaultTiming);
  return [all.next(false), ...news.map((each) => all.next(each))];
}

describe('rounds of asking', () => {
  it.each([
    ['end after three if nobody answers', [false, false, false], [500, 1_000, 1_000, undefined]],
    ['end after three if all answer the first', [true, false, false], [500, 1_000, 1_000, undefined]],
    [
      'go on while somebody new answers',
      [true, true, true, false, false],
      [500, 1_000, 1_000, 1_000, 1_000, undefined],
    ],
    ['need two quiet rounds in a row', [true, false, true, false, false], [500, 1_000, 1_000, 1_000, 1_000, undefined]],
  ])('%s', (_name, news, gaps) => {
    expect(rounds(...news)).toEqual(gaps);
  });
});

describe('transaction numbers', () => {
  it('are never in use twice, never 0, and end when all are in use', () => {
    const xids = new Xids();
    const taken = Array.from({ length: 65_535 }, () => xids.take());
    expect(new Set(taken).size).toBe(65_535);
    expect(taken).not.toContain(0);
    expect(xids.take()).toBeUndefined();
    xids.giveBack(77);
    expect(xids.take()).toBe(77);
  });

  it('are not used again at once', () => {
    const xids = new Xids();
    const first = xids.take()!;
    xids.giveBack(first);
    expect(xids.take()).not.toBe(first);
  });
});

describe('queues', () => {
  it('do one thing at a time for each key, and all keys at a time', async () => {
    const queues = new Queues();
    const done: string[] = [];
    const gate = Promise.withResolvers<void>();
    queues.add('slow', () => gate.promise.then(() => void done.push('slow 1')));
    queues.add('slow', async () => void done.push('slow 2'));
    queues.add('quick', async () => {
      done.push('quick 1');
      queues.add('quick', async () => {
        done.push('quick 2');
        gate.resolve();
      });
    });
    await queues.idle();
    expect(done).toEqual(['quick 1', 'quick 2', 'slow 1', 'slow 2']);
    await queues.idle();
  });
});

describe('IPv6 groups', () => {
  it('are that of all agents and that of the type, by the hash of RFC 3111', () => {
    // "ab": (97 * 33 + 98) mod 1024 = 227
    expect(typeHash('ab')).toBe(227);
    expect(typeHash('')).toBe(0);
    expect(groups6('ab')).toEqual(['ff02::116', 'ff02::1:10e3']);
  });

  it('of directory agents is one of its own', () => {
    expect(groups6('service:directory-agent')).toEqual(['ff02::123']);
  });
});
