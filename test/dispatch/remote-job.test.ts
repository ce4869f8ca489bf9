import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { Channel, readFrame } from '../../src/bus/channel.ts';
import { Fault } from '../../src/core/errors.ts';
import { FileAnswers } from '../../src/dispatch/file-answers.ts';
import { doByWorker } from '../../src/dispatch/remote-job.ts';
import { LocalFiles } from '../../src/nodes/index.ts';

/** A job that switches n1 and n2 on, or only n1, and the end of its channel that the worker has. */
function begun({ nodes = ['n1'], timeout = 240_000 } = {}) {
  const made: Channel[] = [];
  const end = (other: number): Channel =>
    new Channel({
      transmit: (frame) => void setImmediate(() => made[other]?.receive(readFrame(frame)!)),
      largest: 1_000_000,
    });
  made.push(end(1), end(0));
  const [ofServer, ofWorker] = made as [Channel, Channel];
  const delivered: unknown[] = [];
  const done = doByWorker({
    worker: { name: 'sn1', open: () => ofServer },
    job: { command: 'rpower', user: 'root', shared: {}, targets: Object.fromEntries(nodes.map((node) => [node, {}])) },
    changes: true,
    timeout,
    limits: { effects: [], howToLook: () => 'Look.' },
    ssh: undefined,
    files: new FileAnswers(new LocalFiles()),
    log: pino({ level: 'silent' }),
    signal: new AbortController().signal,
    report: () => undefined,
    deliver: (results) => void delivered.push(...results),
  });
  return { ofWorker, delivered, done };
}

const send = (channel: Channel, answer: object): Promise<void> => channel.send(Buffer.from(JSON.stringify(answer)));

test('a worker that asks again and again and does not listen is not read on', async () => {
  const { ofWorker, delivered, done } = begun();
  let sent = 0;
  const asking = (async () => {
    for (; sent < 2_000; sent++) await send(ofWorker, { is: 'begin', question: sent, nodes: ['n1'] });
  })().catch(() => undefined);
  let last = -1;
  for (let idle = 0; idle < 200 && sent < 2_000; idle = sent === last ? idle + 1 : 0) {
    last = sent;
    await turn();
  }
  expect(sent).toBeLessThan(100);
  ofWorker.end(new Fault('unavailable', 'over'));
  await asking;
  expect(await done).toEqual([]);
  expect(delivered).toEqual([{ node: 'n1', error: expect.stringContaining('that may have happened or not') }]);
});

test('one that listens gets as many answers as it asks for', async () => {
  const { ofWorker, done } = begun();
  const heard: number[] = [];
  const listening = (async () => {
    for await (const message of ofWorker) {
      const order = JSON.parse(Buffer.from(message).toString()) as { is: string; question: number };
      if (order.is === 'go-ahead') heard.push(order.question);
      if (heard.length === 300) break;
    }
  })();
  for (let question = 0; question < 300; question++) await send(ofWorker, { is: 'begin', question, nodes: ['n1'] });
  await listening;
  expect(heard).toEqual(Array.from({ length: 300 }, (_, question) => question));
  await send(ofWorker, { is: 'reports', reports: [{ result: { node: 'n1', value: { power: 'on' } } }] });
  expect(await done).toEqual([]);
});

test('a worker that does not end a job loses it, whatever it asks again, and what it had begun may have happened', async () => {
  const { ofWorker, delivered, done } = begun({ nodes: ['n1', 'n2', 'n3'], timeout: 2_000 });
  const over = new AbortController();
  const asking = (async () => {
    for (let question = 0; !over.signal.aborted; question++)
      await send(ofWorker, { is: 'begin', question, nodes: ['n1', 'n2'] });
  })().catch(() => undefined);
  const listening = (async () => {
    for await (const message of ofWorker) void message;
  })();
  await send(ofWorker, { is: 'reports', reports: [{ result: { node: 'n2', value: { power: 'on' } } }] });
  expect(await done).toEqual(['n3']);
  expect(delivered).toEqual([
    { node: 'n2', value: { power: 'on' } },
    {
      node: 'n1',
      error: 'the worker sn1 did not finish rpower on this node in time, so that may have happened or not. Look.',
    },
  ]);
  over.abort();
  await Promise.all([asking, listening]);
});
