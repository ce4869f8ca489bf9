import { expect, onTestFinished, test, vi } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import type { PowerAction } from '../../../src/drivers/capabilities.ts';
import type { IpmiLink } from '../../../src/protocols/ipmi/link.ts';
import { patient, scriptedLink, type Step } from '../../protocols/ipmi/commands/script.ts';
import { over } from './script.ts';

const off: Step = { request: '00 01', data: '000000' };
const on: Step = { request: '00 01', data: '010000' };
const control = (code: number): Step => ({ request: `00 02 0${code}` });
const lost = (step: Step): Step => ({ ...step, error: new Fault('deadline', 'no answer') });

test.each<[PowerAction, string, readonly Step[], string]>([
  ['on', 'when on sends nothing', [on], 'on'],
  ['on', 'when off waits until on is seen', [off, control(1), off, on], 'on'],
  ['off', 'when off sends nothing', [off], 'off'],
  ['off', 'when on waits until off is seen', [on, control(0), on, off], 'off'],
  ['softoff', 'when off sends nothing', [off], 'off'],
  ['softoff', 'when on waits until off is seen', [on, control(5), off], 'off'],
  ['reset', 'when off sends nothing', [off], 'off'],
  ['reset', 'when on', [on, control(3), on], 'on'],
  ['cycle', 'when off sends nothing', [off], 'off'],
  ['cycle', 'when on is off for a while', [on, control(2), off, on], 'on'],
  ['boot', 'when off is on', [off, control(1), on], 'on'],
  ['boot', 'when on is reset', [on, control(3), on], 'on'],
  ['nmi', 'when on', [on, control(4)], 'on'],
  ['on', 'unanswered but done', [off, lost(control(1)), on], 'on'],
  ['on', 'with one lost reading', [off, control(1), lost(off), on], 'on'],
])('%s %s', async (action, _, steps, state) => {
  const link = scriptedLink(steps);
  expect(await over(link).power.set(action, patient)).toBe(state);
  expect(link.left()).toBe(0);
});

test('an unanswered on that had no effect is sent again only after the state was read', async () => {
  const steps = [off, lost(control(1)), off, off, control(1), on];
  const link = scriptedLink(steps);
  expect(await over(link, { powerTimeout: 800 }).power.set('on', patient)).toBe('on');
  expect(link.left()).toBe(0);
});

test.each<[PowerAction, readonly Step[], string, RegExp]>([
  ['reset', [on, lost(control(3))], 'deadline', /reset got no answer; it is unknown whether its BMC carried it out/],
  ['cycle', [on, lost(control(2))], 'deadline', /cycle got no answer/],
  ['nmi', [off], 'invalid', /it is off, and nmi needs a running system/],
  ['nmi', [on, { ...control(4), code: 0xcc }], 'invalid', /refused the power action "nmi"/],
  ['wake', [], 'invalid', /no power action "wake"; it has on, off, softoff, reset, boot, cycle, nmi/],
  ['suspend', [], 'invalid', /no power action "suspend"/],
  ['softoff', [on, control(5), on], 'deadline', /it is still on 0 s after the power action softoff/],
  ['on', [off, { ...control(1), code: 0xd5 }], 'invalid', /not possible in the present state/],
])('%s fails clearly after %j', async (action, steps, kind, sentence) => {
  const link = scriptedLink(steps);
  const error = await over(link, { powerTimeout: 200 })
    .power.set(action, patient)
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ kind });
  expect((error as Error).message).toMatch(sentence);
  expect(link.left()).toBe(0);
});

test('all attempts together have one timeout', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const slow: IpmiLink = {
    request: ({ command }, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
        const answer = { code: 0, data: Buffer.of(0, 0, 0) };
        setTimeout(() => (command === 2 ? reject(new Fault('deadline', 'no answer')) : resolve(answer)), 80);
      }),
  };
  const ended = vi.fn<(error: Error) => void>();
  over(slow, { powerTimeout: 500 }).power.set('on', patient).catch(ended);
  await vi.advanceTimersByTimeAsync(499);
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(ended.mock.calls[0]![0].message).toMatch(/^it is still off \d s after the power action on/);
});

test('an abort ends the wait', async () => {
  const controller = new AbortController();
  const link = scriptedLink([off, control(1)]);
  const waiting = over(link, { powerTimeout: 10_000 }).power.set('on', controller.signal);
  setTimeout(() => controller.abort(), 50);
  await expect(waiting).rejects.toMatchObject({ kind: 'deadline' });
});
