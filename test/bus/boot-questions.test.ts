import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { WorkerBoots } from '../../src/boot/server/worker-boots.ts';
import { Channel, readFrame } from '../../src/bus/channel.ts';
import { Fault } from '../../src/core/errors.ts';
import { createLog } from '../../src/core/log.ts';

const fetched: number[] = [];
/** n1 has 10.0.0.1 and is the worker's; n2 has 10.0.0.2 and is another's. */
const boots = new WorkerBoots({
  log: createLog('silent'),
  objection: () => undefined,
  serves: (_worker, node) => node === 'n1',
  nodeAt: (address) => ({ '10.0.0.1': 'n1', '10.0.0.2': 'n2' })[address],
  source: {
    find: async ([name]) => ({
      found: { kind: 'text', text: name!, step: 'script', ...(name === 'n2' && { foreignNode: 'n2' }) },
      fetched: ({ at }) => fetched.push(at.getTime()),
    }),
    take: async () => undefined,
  },
});

const opened: Channel[] = [];
afterEach(() => {
  for (const channel of opened.splice(0)) channel.close(new Fault('unavailable', 'over'));
});

function ask() {
  const towards = (index: number) => (frame: Uint8Array) =>
    void setImmediate(() => opened[index]?.receive(readFrame(frame)!));
  opened.push(
    new Channel({ transmit: towards(1), largest: 1_000_000 }),
    new Channel({ transmit: towards(0), largest: 1_000_000 }),
  );
  const [here, there] = opened as [Channel, Channel];
  void boots.answer('sn1', there);
  const answers = here[Symbol.asyncIterator]();
  return {
    send: (question: object) => here.send(Buffer.from(JSON.stringify(question))),
    next: async () => JSON.parse(Buffer.from((await answers.next()).value!).toString()) as Record<string, unknown>,
  };
}

const client = (address: string) => ({ address, server: '10.0.0.254', httpPort: 80, protocol: 'http' });

test.each([
  ['10.0.0.2', 'n1', 'is not among those of the node'],
  ['10.0.0.9', 'n2', 'is not among those of the node'],
  ['x', 'n1', 'has no address'],
  ['', 'n1', 'has no address'],
])('a worker that asks for %s at %s is refused', async (address, path, why) => {
  const { send, next } = ask();
  await send({ is: 'find', question: 1, segments: [path], client: client(address) });
  expect(await next()).toMatchObject({
    is: 'fault',
    fault: { kind: 'denied', sentences: [expect.stringContaining(why)] },
  });
});

test('what it says of times stays between the answer and now', async () => {
  const began = Date.now();
  const { send, next } = ask();
  for (const [question, at] of [0, 8.64e15].entries()) {
    await send({ is: 'find', question, segments: ['n1'], client: client('10.0.0.1') });
    const { found } = (await next()) as { found: { served: number } };
    await send({ is: 'fetched', served: found.served, at, source: 'http' });
  }
  while (fetched.length < 2) await turn();
  for (const at of fetched) {
    expect(at).toBeGreaterThanOrEqual(began);
    expect(at).toBeLessThanOrEqual(Date.now());
  }
});
