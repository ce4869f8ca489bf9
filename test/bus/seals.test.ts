import { expect, test } from 'vitest';
import { EndedChannels } from '../../src/bus/ended-channels.ts';
import { sealKeyOf, Seals } from '../../src/bus/seals.ts';
import { isWithin, subjects, workerOf } from '../../src/bus/subjects.ts';

const server = new Seals((worker) => sealKeyOf('seed of the servers', worker));
const ownKey = sealKeyOf('seed of the servers', 'sn1.cluster');
const worker = new Seals((name) => (name === 'sn1.cluster' ? ownKey : undefined));
const toWorker = subjects.toWorker('sn1.cluster', 'i1', 's1', '1');
const text = Buffer.from('a message');

test('a worker opens what a server sealed for it, and the other way round', () => {
  expect(Buffer.from(worker.open(toWorker, server.seal(toWorker, text))!).equals(text)).toBe(true);
  const toServer = subjects.toServer('sn1.cluster', 'i1', 's1', '1');
  expect(Buffer.from(server.open(toServer, worker.seal(toServer, text))!).equals(text)).toBe(true);
  const empty = server.seal(toWorker, Buffer.alloc(0));
  expect(worker.open(toWorker, empty)).toHaveLength(0);
});

test.each([
  ['another channel', subjects.toWorker('sn1.cluster', 'i1', 's1', '2')],
  ['another server', subjects.toWorker('sn1.cluster', 'i1', 's2', '1')],
  ['another process of the worker', subjects.toWorker('sn1.cluster', 'i2', 's1', '1')],
  ['the other direction', subjects.toServer('sn1.cluster', 'i1', 's1', '1')],
  ['another kind', subjects.notice('sn1.cluster', 'i1')],
  ['all workers', subjects.servers],
  ['nobody', ''],
])('a message to %s is not opened', (_whom, subject) => {
  expect(server.open(subject, server.seal(toWorker, text))).toBeUndefined();
});

test('nothing that was changed or cut is opened, and two seals of one message differ', () => {
  const sealed = Buffer.from(server.seal(toWorker, text));
  expect(sealed.equals(Buffer.from(server.seal(toWorker, text)))).toBe(false);
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed);
    changed[at]! ^= 1;
    expect(worker.open(toWorker, changed)).toBeUndefined();
    expect(worker.open(toWorker, sealed.subarray(0, at))).toBeUndefined();
  }
});

test('a worker has no key of another, and another key of the servers opens nothing', () => {
  const toOther = subjects.toWorker('sn2', 'i1', 's1', '1');
  expect(worker.open(toOther, server.seal(toOther, text))).toBeUndefined();
  expect(() => worker.seal(toOther, text)).toThrow('no key');
  const stranger = new Seals((name) => sealKeyOf('another seed', name));
  expect(worker.open(toWorker, stranger.seal(toWorker, text))).toBeUndefined();
});

test('subjects say whom they are about, and what a subscription brings', () => {
  expect([toWorker, subjects.servers, 'muster.to.', 'x'].map(workerOf)).toEqual([
    'sn1.cluster',
    undefined,
    undefined,
    undefined,
  ]);
  const all = subjects.allToWorker('sn1.cluster', 'i1');
  expect([toWorker, all.slice(0, -2), subjects.servers].map((each) => isWithin(each, all))).toEqual([
    true,
    false,
    false,
  ]);
  expect(isWithin(subjects.presence('sn1', 'i1'), subjects.allPresence)).toBe(true);
  expect(isWithin('muster.from.sn1.i1.x.here', subjects.allPresence)).toBe(false);
});

test('channels that are over stay over, however many follow', () => {
  const ended = new EndedChannels();
  for (let number = 2; number <= 30_000; number += 2) ended.add(number);
  expect([2, 3, 9_000, 29_998, 30_000].every((number) => ended.has(number))).toBe(true);
  expect([29_999, 30_001].some((number) => ended.has(number))).toBe(false);
});
