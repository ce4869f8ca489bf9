import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Fault, Unreachable } from '../../src/core/errors.ts';
import { Governor } from '../../src/drivers/governor.ts';

const never = new AbortController().signal;

/** Work that ends when told to, and remembers when it began. */
function controlled() {
  const started: string[] = [];
  const finish = new Map<string, () => void>();
  const fail = new Map<string, (error: unknown) => void>();
  const work = (name: string) => () =>
    new Promise<string>((resolve, reject) => {
      started.push(name);
      finish.set(name, () => resolve(name));
      fail.set(name, reject);
    });
  return { started, finish, fail, work };
}

test('a device gets one command at a time, in the order they came', async () => {
  const { started, finish, work } = controlled();
  const governor = new Governor();
  const first = governor.run('bmc', 'u', never, work('first'));
  const second = governor.run('bmc', 'u', never, work('second'));
  expect(started).toEqual(['first']);
  finish.get('first')!();
  expect(await first).toBe('first');
  await wait(0);
  expect(started).toEqual(['first', 'second']);
  finish.get('second')!();
  expect(await second).toBe('second');
});

test('devices do not wait for each other within the bound on all', async () => {
  const { started, finish, work } = controlled();
  const governor = new Governor({ inFlight: 2 });
  const all = ['a', 'b', 'c'].map((key) => governor.run(key, 'u', never, work(key)));
  expect(started).toEqual(['a', 'b']);
  finish.get('a')!();
  await all[0];
  await wait(0);
  expect(started).toEqual(['a', 'b', 'c']);
  finish.get('b')!();
  finish.get('c')!();
  await Promise.all(all);
});

test('a silent device costs one wait: those behind fail with the first, later ones at once, until its rest is over', async () => {
  const { started, fail, work } = controlled();
  let now = 0;
  const governor = new Governor({ quarantine: 1_000 }, () => now);
  const first = governor.run('dead', 'u', never, work('first'));
  const behind = governor.run('dead', 'v', never, work('behind'));
  fail.get('first')!(new Unreachable('does not answer.'));
  await expect(first).rejects.toThrow('does not answer');
  await expect(behind).rejects.toThrow('does not answer');
  await wait(0);
  await expect(governor.run('dead', 'w', never, work('soon'))).rejects.toThrow('does not answer');
  expect(started).toEqual(['first']);
  now = 1_001;
  void governor.run('dead', 'w', never, work('later'));
  expect(started).toEqual(['first', 'later']);
});

test('a device that answers with an error is asked again by the next', async () => {
  const { started, fail, work } = controlled();
  const governor = new Governor();
  const first = governor.run('bmc', 'u', never, work('first'));
  void governor.run('bmc', 'u', never, work('second'));
  fail.get('first')!(new Fault('invalid', 'wrong password.'));
  await expect(first).rejects.toThrow('wrong password');
  await wait(0);
  expect(started).toEqual(['first', 'second']);
});

test('a device that answers nonsense costs one wait too, but is asked again by who comes later', async () => {
  const { started, fail, work } = controlled();
  const governor = new Governor();
  const first = governor.run('odd', 'u', never, work('first'));
  const behind = governor.run('odd', 'v', never, work('behind'));
  fail.get('first')!(new Fault('garbled', 'is no IPMI.'));
  await expect(first).rejects.toThrow('is no IPMI');
  await expect(behind).rejects.toThrow('is no IPMI');
  await wait(0);
  void governor.run('odd', 'w', never, work('later'));
  expect(started).toEqual(['first', 'later']);
});

test('users take turns when there is no room for all', async () => {
  const { started, finish, work } = controlled();
  const governor = new Governor({ inFlight: 1 });
  const running = governor.run('x', 'a', never, work('x'));
  const waiting = [
    governor.run('a1', 'a', never, work('a1')),
    governor.run('a2', 'a', never, work('a2')),
    governor.run('b1', 'b', never, work('b1')),
  ];
  finish.get('x')!();
  await running;
  for (const name of ['a1', 'b1', 'a2']) {
    await wait(0);
    expect(started.at(-1)).toBe(name);
    finish.get(name)!();
  }
  await Promise.all(waiting);
});

test('too many requests for one device are refused', async () => {
  const { finish, work } = controlled();
  const governor = new Governor({ perDevice: 1 });
  const running = governor.run('bmc', 'u', never, work('running'));
  const waiting = governor.run('bmc', 'u', never, work('waiting'));
  await expect(governor.run('bmc', 'u', never, work('refused'))).rejects.toMatchObject({ kind: 'unavailable' });
  finish.get('running')!();
  await running;
  await wait(0);
  finish.get('waiting')!();
  await waiting;
});

test('who leaves while waiting is forgotten and the next gets the turn', async () => {
  const { started, finish, work } = controlled();
  const governor = new Governor({ inFlight: 1 });
  const leaving = new AbortController();
  const running = governor.run('bmc', 'u', never, work('running'));
  const left = governor.run('bmc', 'u', leaving.signal, work('left'));
  const other = governor.run('other', 'u', leaving.signal, work('other'));
  const patient = governor.run('bmc', 'u', never, work('patient'));
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  await expect(other).rejects.toThrow('gone');
  finish.get('running')!();
  await running;
  await wait(0);
  expect(started).toEqual(['running', 'patient']);
  finish.get('patient')!();
  await patient;
});
