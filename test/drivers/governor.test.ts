import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Fault, NothingListens, Unreachable } from '../../src/core/errors.ts';
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

test('a device that takes several at once gets as many, and the next when one is done', async () => {
  const { started, finish, work } = controlled();
  const governor = new Governor();
  const all = ['a', 'b', 'c', 'd'].map((name) => governor.run('hypervisor', 'u', never, work(name), 3));
  expect(started).toEqual(['a', 'b', 'c']);
  finish.get('b')!();
  expect(await all[1]).toBe('b');
  await wait(0);
  expect(started).toEqual(['a', 'b', 'c', 'd']);
  for (const name of ['a', 'c', 'd']) finish.get(name)!();
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
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
  now = 400;
  const soon = governor.run('dead', 'w', never, work('soon'));
  await expect(soon).rejects.toThrow(
    /^does not answer; that was 1 s ago, and it is not retried before \d\d:\d\d:\d\d UTC\.$/,
  );
  await expect(soon).rejects.toMatchObject({ kind: 'invalid', retryAfter: 1 });
  expect(started).toEqual(['first']);
  now = 1_001;
  void governor.run('dead', 'w', never, work('later'));
  expect(started).toEqual(['first', 'later']);
});

test.each([new Fault('invalid', 'wrong password.'), new NothingListens('nobody answers there.')])(
  'a device that answers with an error is asked again by the next: %s',
  async (error) => {
    const { started, fail, work } = controlled();
    const governor = new Governor();
    const first = governor.run('bmc', 'u', never, work('first'));
    void governor.run('bmc', 'u', never, work('second'));
    fail.get('first')!(error);
    await expect(first).rejects.toThrow(error.message);
    await wait(0);
    expect(started).toEqual(['first', 'second']);
  },
);

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

test('users take turns at one device too, whatever one of them has queued', async () => {
  const { started, finish, work } = controlled();
  const governor = new Governor();
  const many = Array.from({ length: 100 }, (_, place) => governor.run('bmc', 'a', never, work(`a${place}`)));
  const few = [governor.run('bmc', 'b', never, work('b0')), governor.run('bmc', 'c', never, work('c0'))];
  for (const name of ['a0', 'a1', 'b0', 'c0', 'a2', 'a3']) {
    expect(started.at(-1)).toBe(name);
    finish.get(name)!();
    await wait(0);
  }
  for (let place = 4; place < many.length; place++) {
    finish.get(`a${place}`)!();
    await wait(0);
  }
  await Promise.all([...many, ...few]);
});

test('a full queue of one user does not shut others out', async () => {
  const { started, finish, work } = controlled();
  const governor = new Governor({ perDevice: 4 });
  const greedy = ['a0', 'a1', 'a2', 'a3', 'a4'].map((name) => governor.run('bmc', 'a', never, work(name)));
  const late = greedy.map((one) => one.catch((error: unknown) => error));
  await expect(governor.run('bmc', 'a', never, work('a5'))).rejects.toMatchObject({ kind: 'unavailable' });
  const modest = ['b0', 'b1'].map((name) => governor.run('bmc', 'b', never, work(name)));
  // Both have the same share now.
  await expect(governor.run('bmc', 'b', never, work('b2'))).rejects.toMatchObject({ kind: 'unavailable' });
  for (const refused of [3, 4]) expect(await late[refused]).toMatchObject({ kind: 'unavailable' });
  for (const name of ['a0', 'a1', 'b0', 'a2', 'b1']) {
    expect(started.at(-1)).toBe(name);
    finish.get(name)!();
    await wait(0);
  }
  expect(await Promise.all(modest)).toEqual(['b0', 'b1']);
});

test('who waits for a slow device too long gives up, and the others keep their turns', async () => {
  const { started, finish, work } = controlled();
  let now = 0;
  const governor = new Governor({ queueTimeout: 50 }, () => now);
  const running = governor.run('slow', 'u', never, work('running'));
  const first = governor.run('slow', 'u', never, work('first'));
  const second = governor.run('slow', 'v', never, work('second'));
  now = 40;
  const late = governor.run('slow', 'u', never, work('late'));
  now = 51;
  await expect(first).rejects.toMatchObject({ kind: 'unavailable', retryAfter: 1 });
  await expect(first).rejects.toThrow(/^its turn did not come within 1 s: one other request for the same device/);
  await expect(second).rejects.toThrow(/: 2 other requests for the same device came first/);
  finish.get('running')!();
  await running;
  await wait(0);
  expect(started).toEqual(['running', 'late']);
  finish.get('late')!();
  await late;
});

test('a wait that ended in time leaves no timer that ends another', async () => {
  const { finish, work } = controlled();
  let now = 0;
  const governor = new Governor({ queueTimeout: 60 }, () => now);
  const running = governor.run('bmc', 'u', never, work('running'));
  const next = governor.run('bmc', 'u', never, work('next'));
  finish.get('running')!();
  await running;
  await wait(0);
  now = 50;
  const patient = governor.run('bmc', 'u', never, work('patient'));
  now = 70;
  await wait(80);
  finish.get('next')!();
  await next;
  await wait(0);
  finish.get('patient')!();
  expect(await patient).toBe('patient');
});

const keys = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
const idle = (): number => 0;
const limits = { inFlight: 2, slowInFlight: 3, slowAfter: 20 };

test('work that takes long gives its slot to who waits, up to a bound of its own', async () => {
  const { started, finish, work } = controlled();
  const governor = new Governor(limits, undefined, idle);
  const all = keys('d', 8).map((key) => governor.run(key, 'u', never, work(key)));
  expect(started).toEqual(['d0', 'd1']);
  await expect.poll(() => started).toEqual(keys('d', 5));
  await wait(100);
  expect(started).toHaveLength(5);
  finish.get('d0')!();
  await all[0];
  await expect.poll(() => started).toHaveLength(6);
  for (const key of keys('d', 8)) {
    await expect.poll(() => finish.has(key)).toBe(true);
    finish.get(key)!();
  }
  expect(await Promise.all(all)).toEqual(keys('d', 8));
  // The slots are all there again.
  void governor.run('x', 'u', never, work('x'));
  void governor.run('y', 'u', never, work('y'));
  void governor.run('z', 'u', never, work('z'));
  expect(started.slice(8)).toEqual(['x', 'y']);
});

test('work that takes long because this process is busy keeps its slot', async () => {
  const { started, work } = controlled();
  const governor = new Governor(limits, undefined, () => 0.95);
  for (const key of keys('d', 3)) void governor.run(key, 'u', never, work(key));
  await wait(100);
  expect(started).toEqual(['d0', 'd1']);
});

test('where work takes long because this process is busy, less of it is in flight, and all again when it is not', async () => {
  const { started, finish, work } = controlled();
  let now = 0;
  let load = 0.95;
  const governor = new Governor(
    { inFlight: 400, slowAfter: 1_000 },
    () => now,
    () => load,
  );
  const all = keys('d', 2_000).map((key) => governor.run(key, 'u', never, work(key)));
  const underWay = (): number => started.length - ended;
  let ended = 0;
  const end = async (count: number): Promise<void> => {
    for (const key of keys('d', ended + count).slice(ended)) finish.get(key)!();
    await Promise.all(all.slice(ended, (ended += count)));
    await wait(0);
  };
  expect(underWay()).toBe(400);
  now += 2_000;
  await end(300);
  // Until it is looked at how things go, each that ends makes room for one.
  expect(underWay()).toBe(400);
  await wait(150);
  await end(300);
  expect(underWay()).toBeLessThan(250);
  expect(underWay()).toBeGreaterThanOrEqual(128);
  load = 0;
  await expect.poll(underWay).toBeGreaterThanOrEqual(400);
});

test('where all work takes long, one piece of it keeps its slot as long as it takes no longer than that', async () => {
  const { started, finish, work } = controlled();
  let now = 0;
  const governor = new Governor(limits, () => now, idle);
  for (const key of keys('before', 200)) {
    const one = governor.run(key, 'u', never, work(key));
    now += 10_000;
    finish.get(key)!();
    await one;
  }
  for (const key of keys('d', 3)) void governor.run(key, 'u', never, work(key));
  now += 10_000;
  await wait(100);
  expect(started.slice(200)).toEqual(['d0', 'd1']);
  now += 30_000;
  await expect.poll(() => started.slice(200)).toEqual(['d0', 'd1', 'd2']);
});

test('a device that was silent takes no slot from others when it is tried again', async () => {
  const { started, finish, fail, work } = controlled();
  let now = 0;
  const governor = new Governor({ ...limits, quarantine: 1_000 }, () => now, idle);
  const dead = keys('dead', 2).map((key) => governor.run(key, 'u', never, work(key)));
  for (const key of keys('dead', 2)) fail.get(key)!(new Unreachable('does not answer.'));
  for (const one of dead) await expect(one).rejects.toThrow('does not answer');
  now = 1_001;
  const again = keys('dead', 2).map((key) => governor.run(key, 'u', never, work(key)));
  const living = keys('live', 2).map((key) => governor.run(key, 'u', never, work(key)));
  expect(started.slice(2)).toEqual(['dead0', 'dead1', 'live0', 'live1']);
  for (const key of started.slice(2)) finish.get(key)!();
  await Promise.all([...again, ...living]);
  // It has answered, so that it is one like others.
  for (const key of ['dead0', 'dead1', 'live0']) void governor.run(key, 'u', never, work(`${key}!`));
  expect(started.slice(6)).toEqual(['dead0!', 'dead1!']);
});
