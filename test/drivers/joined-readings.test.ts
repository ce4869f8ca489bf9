import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Fault, Unreachable } from '../../src/core/errors.ts';
import { Governor } from '../../src/drivers/governor.ts';
import { JoinedReadings } from '../../src/drivers/devices.ts';

const never = new AbortController().signal;
const target = { device: 'hypervisor', address: 'hypervisor', width: 1, access: {} };

test('readings that wait begin together, as one piece of work', async () => {
  const governor = new Governor();
  const readings = new JoinedReadings(governor);
  const begun: string[] = [];
  let release = (): void => undefined;
  const other = governor.run('hypervisor', 'u', never, () => new Promise<void>((resolve) => (release = resolve)));
  const read = (name: string) =>
    readings.run(target, 'u', never, async () => {
      begun.push(name);
      return name;
    });
  const early = [read('a'), read('b')];
  await wait(5);
  const late = read('c');
  const after = governor.run('hypervisor', 'u', never, async () => begun.push('next'));
  expect(begun).toEqual([]);
  release();
  expect(await Promise.all([...early, late])).toEqual(['a', 'b', 'c']);
  await Promise.all([other, after]);
  expect(begun).toEqual(['a', 'b', 'c', 'next']);
});

test('each reading has its own outcome, and who leaves is not read', async () => {
  const readings = new JoinedReadings(new Governor());
  const leaving = new AbortController();
  const failing = readings.run(target, 'u', never, () => Promise.reject(new Fault('invalid', 'no such machine')));
  const left = readings.run(target, 'u', leaving.signal, () => Promise.reject(new Error('was read')));
  const good = readings.run(target, 'u', never, async () => 'on');
  leaving.abort(new Fault('invalid', 'left'));
  await expect(left).rejects.toThrow('left');
  await expect(failing).rejects.toThrow('no such machine');
  expect(await good).toBe('on');
});

test('a device that does not answer is left alone, by all who wait for it', async () => {
  const governor = new Governor();
  const readings = new JoinedReadings(governor);
  let asked = 0;
  const read = () =>
    readings.run(target, 'u', never, () => {
      asked++;
      return Promise.reject(new Unreachable('it does not answer'));
    });
  const outcomes = await Promise.allSettled([read(), read(), read()]);
  expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.message)).toEqual(
    Array(3).fill('it does not answer'),
  );
  await expect(read()).rejects.toThrow('it does not answer');
  expect(asked).toBe(3);
});
