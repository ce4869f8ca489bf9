import { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { Fault, Unreachable } from '../../../src/core/errors.ts';
import { Hypervisors } from '../../../src/drivers/kvm/hypervisors.ts';

const never = new AbortController().signal;

/** A daemon that takes every word and says none. */
const silent = (): Duplex => new Duplex({ read: () => undefined, write: (_bytes, _encoding, done) => done() });

function hypervisorsWith(open: () => Promise<Duplex>, timeout?: number) {
  const streams: Promise<Duplex>[] = [];
  const routes = {
    find: async () => null,
    placeOf: () => 'lab',
    open: () => {
      const stream = open();
      streams.push(stream);
      return stream;
    },
  };
  return { hypervisors: new Hypervisors(routes, timeout), streams };
}

test('a daemon that says nothing counts as unreachable, for all who wait for it, and is tried again later', async () => {
  const { hypervisors, streams } = hypervisorsWith(async () => silent(), 20);
  const outcomes = await Promise.allSettled([1, 2, 3].map(() => hypervisors.at('hv', null, never)));
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ reason: { message: 'libvirt on hv was not ready within 0.02 s.' } });
    expect((outcome as PromiseRejectedResult).reason).toBeInstanceOf(Unreachable);
  }
  expect(streams).toHaveLength(1);
  expect((await streams[0]!).destroyed).toBe(true);
  await expect(hypervisors.at('hv', null, never)).rejects.toThrow(Unreachable);
  expect(streams).toHaveLength(2);
});

test('who waits no longer leaves the others waiting', async () => {
  const { hypervisors } = hypervisorsWith(async () => silent(), 100);
  const leaving = new AbortController();
  const [left, stayed] = [hypervisors.at('hv', null, leaving.signal), hypervisors.at('hv', null, never)];
  leaving.abort(new Fault('invalid', 'enough.'));
  await expect(left).rejects.toThrow('enough.');
  await expect(stayed).rejects.toThrow('was not ready');
});

test('the end of the service ends what is being opened', async () => {
  const { hypervisors } = hypervisorsWith(async () => silent());
  const waiting = hypervisors.at('hv', null, never);
  const refused = expect(waiting).rejects.toThrow('muster is shutting down; try again shortly.');
  await hypervisors.close();
  await refused;
});
