import { expect, test, vi } from 'vitest';
import { Fault, Unreachable } from '../../../src/core/errors.ts';
import { openDriver } from '../../../src/protocols/libvirt/calls/domains.ts';
import type { LibvirtFault } from '../../../src/protocols/libvirt/faults.ts';
import { openSocket } from '../../../src/protocols/libvirt/streams.ts';
import { XdrWriter } from '../../../src/protocols/libvirt/wire.ts';
import { keepaliveProgram, makePeer, type Peer } from './peer.ts';

const never = new AbortController().signal;
const ask = (peer: Peer, options: { signal?: AbortSignal; timeout?: number } = {}): Promise<unknown> =>
  peer.connection.call(7, new XdrWriter(), { signal: never, ...options });
const silent = (): void => undefined;
const number = (value: number): Buffer => new XdrWriter().int(value).bytes();
const failureOf = (work: Promise<unknown>): Promise<LibvirtFault> =>
  work.then(
    () => Promise.reject(new Error('It did not fail.')),
    (error: LibvirtFault) => error,
  );

test('answers may come in another order than the calls', async () => {
  const peer = makePeer(silent);
  const calls = [1, 2, 3].map(() => peer.connection.call(7, new XdrWriter(), { signal: never }));
  for (const serial of [3, 1, 2]) peer.say({ procedure: 7, serial }, number(serial));
  expect((await Promise.all(calls)).map((reply) => reply.int())).toEqual([1, 2, 3]);
});

test('four calls are under way at most; the others wait in order', async () => {
  const peer = makePeer(silent);
  const calls = Array.from({ length: 9 }, () => ask(peer));
  expect(peer.heard).toHaveLength(4);
  peer.say({ procedure: 7, serial: 2 });
  await calls[1];
  expect(peer.heard.map(({ serial }) => serial)).toEqual([1, 2, 3, 4, 5]);
  for (const serial of [1, 3, 4, 5, 6, 7, 8, 9]) peer.say({ procedure: 7, serial });
  await Promise.all(calls);
  expect(peer.heard).toHaveLength(9);
});

test('who waits no longer is let go, and one that was not sent is not sent any more', async () => {
  const peer = makePeer(silent);
  const patient = Array.from({ length: 4 }, () => ask(peer));
  const leaving = new AbortController();
  const waiting = ask(peer, { signal: leaving.signal });
  const last = ask(peer);
  leaving.abort(new Fault('invalid', 'enough.'));
  await expect(waiting).rejects.toThrow('enough.');
  for (const serial of [1, 2, 3, 4, 5]) peer.say({ procedure: 7, serial });
  await Promise.all([...patient, last]);
  expect(peer.heard).toHaveLength(5);
  await expect(ask(peer, { signal: leaving.signal })).rejects.toThrow('enough.');
});

test('a late call fails, its answer is nobody’s, and others go on', async () => {
  const peer = makePeer(silent);
  const late = await failureOf(ask(peer, { timeout: 1 }));
  expect(late).toMatchObject({ failure: 'late', kind: 'deadline', message: expect.stringContaining('within 0.001 s') });
  const next = peer.connection.call(7, new XdrWriter(), { signal: never });
  peer.say({ procedure: 7, serial: 1 }, number(1));
  peer.say({ procedure: 7, serial: 2 }, number(2));
  expect((await next).int()).toBe(2);
});

test('a daemon that answers none of the calls it holds is left', async () => {
  const peer = makePeer(silent);
  const ended = new Promise<LibvirtFault>((resolve) => (peer.connection.onEnd = resolve));
  await Promise.all(Array.from({ length: 4 }, () => failureOf(ask(peer, { timeout: 1 }))));
  expect(await ended).toMatchObject({ failure: 'lost', message: 'libvirt on lab answers no call.' });
  expect(peer.connection.isOpen).toBe(false);
});

test('all who wait hear that the connection is gone, and so do those who come later', async () => {
  const peer = makePeer(silent);
  const calls = Array.from({ length: 6 }, () => failureOf(ask(peer)));
  peer.hangUp();
  for (const fault of [...(await Promise.all(calls)), await failureOf(ask(peer))]) {
    expect(fault).toMatchObject({ failure: 'lost', message: 'libvirt on lab has closed the connection.' });
  }
});

test.each([
  ['an answer to nothing', (peer: Peer) => peer.say({ procedure: 7, serial: 9 }), 'an answer that nobody asked for'],
  [
    'an answer to another call',
    (peer: Peer) => peer.say({ procedure: 8, serial: 1 }),
    'an answer that nobody asked for',
  ],
  ['a call', (peer: Peer) => peer.say({ procedure: 7, serial: 1, type: 0 }), 'an answer that nobody asked for'],
  ['a status', (peer: Peer) => peer.say({ procedure: 7, serial: 1, status: 2 }), 'an answer of status 2'],
  ['a program', (peer: Peer) => peer.say({ program: 5 }), 'a message of program 5'],
  [
    'an HTTP server',
    (peer: Peer) => peer.sayBytes(Buffer.from('HTTP/1.1 400\r\n\r\n')),
    'a message of 1213486160 bytes',
  ],
  ['a cut refusal', (peer: Peer) => peer.say({ procedure: 7, serial: 1, status: 1 }), 'it ends too early'],
])('%s that was not expected ends the connection', async (_name, say, what) => {
  const peer = makePeer(silent);
  const call = failureOf(ask(peer));
  say(peer);
  expect(await call).toMatchObject({ failure: 'garbled', message: `what libvirt sent cannot be read: ${what}.` });
  expect(peer.connection.isOpen).toBe(false);
});

test('a refusal without words is told by its number', async () => {
  const peer = makePeer(silent);
  const call = failureOf(ask(peer));
  peer.say({ procedure: 7, serial: 1, status: 1 }, new XdrWriter().int(38).int(10).uint(0).bytes());
  expect(await call).toMatchObject({ code: 38, message: 'libvirt on lab says: error 38.' });
});

test('pings are answered, and silence ends the connection after five unanswered ones', async () => {
  vi.useFakeTimers();
  try {
    const peer = makePeer(silent, 1_000);
    peer.connection.watchLife();
    peer.say({ program: keepaliveProgram, procedure: 1, type: 2 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(peer.heard.map(({ program, procedure, type }) => [program, procedure, type])).toEqual([
      [keepaliveProgram, 2, 2],
    ]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(peer.heard.slice(1).map(({ procedure }) => procedure)).toEqual([1, 1, 1, 1, 1]);
    expect(peer.connection.isOpen).toBe(true);
    peer.say({ program: keepaliveProgram, procedure: 2, type: 2 });
    await vi.advanceTimersByTimeAsync(6_000);
    expect(peer.connection.isOpen).toBe(true);
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await failureOf(ask(peer))).message).toBe('libvirt on lab has not answered for 6 s.');
  } finally {
    vi.useRealTimers();
  }
});

test('a daemon that wants a password is told apart', async () => {
  const peer = makePeer(({ procedure, serial }, { say }) =>
    say(
      { procedure, serial },
      new XdrWriter()
        .list([1, 2], () => undefined)
        .int(1)
        .int(2)
        .bytes(),
    ),
  );
  await expect(openDriver(peer.connection, 'qemu:///system', { signal: never })).rejects.toThrow(
    'libvirt on lab asks for a login (sasl, polkit); let muster in as root there, or without a login.',
  );
});

test('a socket where nobody is says so', async () => {
  const missing = openSocket('/nonexistent/libvirt-sock');
  await expect(missing).rejects.toThrow(Unreachable);
  await expect(missing).rejects.toThrow('there is no such socket; is its libvirt daemon running?');
});
