import { expect, test } from 'vitest';
import { Channel, readFrame } from '../../src/bus/channel.ts';
import { Fault } from '../../src/core/errors.ts';

/** Two ends of a channel; `passes` says of each frame whether it arrives. */
function ends(passes: () => boolean = () => true, largest = 10_000_000): readonly [Channel, Channel] {
  const made: Channel[] = [];
  const towards = (index: number) => (frame: Uint8Array) =>
    void setImmediate(() => passes() && made[index]?.receive(readFrame(frame)!));
  made.push(new Channel({ transmit: towards(1), largest }), new Channel({ transmit: towards(0), largest }));
  return [made[0]!, made[1]!];
}

const over = new Fault('unavailable', 'over');

test('messages arrive once and in order, whatever is lost on the way', async () => {
  let number = 0;
  // Every fifteenth frame is lost, confirmations among them.
  const [from, to] = ends(() => ++number % 15 !== 0);
  const sent = Array.from({ length: 20 }, (_, index) => Buffer.alloc(index * 20_000, `message ${index}`));
  const sending = (async () => {
    for (const message of sent) await from.send(message);
    await from.settled();
  })();
  const received: Buffer[] = [];
  for await (const message of to) {
    received.push(Buffer.from(message));
    if (received.length === sent.length) break;
  }
  await sending;
  expect(Buffer.concat(received).equals(Buffer.concat(sent))).toBe(true);
  for (const end of [from, to]) end.close(over);
});

test('a sender waits for a reader that does not read', async () => {
  const [from, to] = ends();
  let sent = 0;
  const sending = (async () => {
    for (; sent < 100; sent++) await from.send(Buffer.from('x'));
  })();
  for (let turn = 0; turn < 500; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(sent).toBe(16);
  let read = 0;
  for await (const _ of to) if (++read === 100) break;
  await sending;
  for (const end of [from, to]) end.close(over);
});

test('a message that is too large closes the channel on both ends', async () => {
  const [from, to] = ends(undefined, 500_000);
  const sending = from.send(Buffer.alloc(2_000_000));
  sending.catch(() => undefined);
  expect(await Array.fromAsync(to)).toEqual([]);
  expect(to.closed?.message).toContain('larger than the 500000 bytes');
  await from.settled();
  expect(from.closed).toBeDefined();
});

test('a message of many short pieces closes the channel: each takes memory', async () => {
  const [, to] = ends();
  const frame = (sequence: number) => {
    const bytes = new Uint8Array(16);
    bytes[0] = 1;
    new DataView(bytes.buffer).setUint32(4, sequence);
    return readFrame(bytes)!;
  };
  for (let sequence = 0; sequence < 3; sequence++) to.receive(frame(sequence));
  expect(await Array.fromAsync(to)).toEqual([]);
  expect(to.closed?.message).toContain('too short');
});

test('what had arrived is read also when the other end has closed the channel meanwhile', async () => {
  const [from, to] = ends();
  for (let index = 0; index < 5; index++) await from.send(Buffer.from(`message ${index}`));
  await from.settled();
  from.end(over);
  await expect.poll(() => to.closed).toBeDefined();
  expect((await Array.fromAsync(to)).map((message) => Buffer.from(message).toString())).toEqual(
    Array.from({ length: 5 }, (_, index) => `message ${index}`),
  );
});
