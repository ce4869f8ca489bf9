import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventKinds } from '../../src/core/event-kinds.ts';
import type { Logger } from '../../src/core/log.ts';
import { EventHub } from '../../src/events/hub.ts';
import type { Sink } from '../../src/events/listener.ts';
import type { EventData } from '../../src/events/view.ts';
import { memoryStore, testOrigin, type TestStore } from '../harness/store.ts';

const complaints: unknown[] = [];
const log = { error: (about: unknown) => complaints.push(about) } as unknown as Logger;

let cluster: TestStore;
let hub: EventHub;
beforeEach(async () => {
  complaints.length = 0;
  cluster = await memoryStore();
  await cluster.put(
    ['policy', { priority: '2', name: 'op', commands: 'events', rule: 'allow' }],
    ['nodelist', { node: 'n1', groups: 'all' }],
  );
  hub = new EventHub(cluster.store, log);
});
afterEach(async () => {
  await hub.close();
  await cluster.close();
});

/** A connection that takes one piece at a time, and the next only when it is told to. */
class Connection implements Sink {
  text = '';
  isOver = false;
  #isTaking: boolean;
  #changed = (): void => undefined;
  readonly #drained: (() => void)[] = [];
  readonly #closed: (() => void)[] = [];

  constructor(isTaking = true) {
    this.#isTaking = isTaking;
  }

  write(bytes: Buffer): boolean {
    this.text += bytes.toString();
    this.#changed();
    return this.#isTaking;
  }
  onDrain(callback: () => void): void {
    this.#drained.push(callback);
  }
  onClose(callback: () => void): void {
    this.#closed.push(callback);
  }
  end(bytes: Buffer): void {
    this.isOver = true;
    this.write(bytes);
    for (const callback of this.#closed) queueMicrotask(callback);
  }
  drain(): void {
    for (const callback of this.#drained) callback();
  }
  async until(text: string): Promise<void> {
    while (!this.text.includes(text)) await new Promise<void>((resolve) => (this.#changed = resolve));
  }
  get ids(): string[] {
    return Array.from(this.text.matchAll(/^id: (\S+)$/gm), ([, id]) => id!);
  }
}

const comment = (value: string) =>
  cluster.store.change(testOrigin, (head) => {
    const before = head.get('nodelist', 'n1')!;
    return [{ table: 'nodelist', key: 'n1', before, after: { ...before, comments: value } }];
  });

function listen(user: string, sink: Sink, after?: string): Promise<void> {
  const filter = { user, addresses: [], command: 'events', line: '', kinds: eventKinds, range: undefined, ranges: {} };
  return hub.listen({ user, token: undefined, login: undefined, filter, after, seconds: undefined }, () => sink);
}

it('is told the rest when it comes back, each once', async () => {
  const first = new Connection();
  void listen('op', first);
  await first.until('event: ready');
  for (let i = 0; i < 5; i++) await comment(`number ${i}.`);
  await first.until('number 4.');
  const second = new Connection();
  void listen('op', second, first.ids[2]);
  await second.until('event: ready');
  await comment('number 5.');
  await second.until('number 5.');
  expect([...second.text.matchAll(/number (\d)\./g)].map(([, number]) => number)).toEqual(['2', '3', '4', '5']);
});

it('hears nothing more when its right ends while it is told what was before', async () => {
  const first = new Connection();
  void listen('op', first);
  await first.until('event: ready');
  const last = first.ids.at(-1);
  await Promise.all(Array.from({ length: 300 }, (_, i) => comment(`number ${i}.`)));
  await first.until('number 299.');
  const slow = new Connection(false);
  const ended = listen('op', slow, last);
  await slow.until('number 0.');
  await cluster.put(['policy', { priority: '2', name: 'op', commands: 'events', noderange: 'n2', rule: 'allow' }]);
  await slow.until('event: dropped');
  slow.drain();
  await ended;
  expect(slow.text).toContain('What you may hear has changed');
  expect(slow.text).not.toContain('number 299.');
  expect(hub.listeners).toBe(0);
});

it('goes on with the others where one in this process fails', async () => {
  const heard: EventData[] = [];
  const leave = [
    hub.attach({ kinds: ['change'], range: undefined }, () => {
      throw new Error('broken');
    }),
    hub.attach({ kinds: ['change'], range: undefined }, (events) => heard.push(...events)),
  ];
  const connection = new Connection();
  void listen('op', connection);
  await connection.until('event: ready');
  await comment('heard.');
  await connection.until('heard.');
  expect(heard.map(({ data }) => data).join()).toContain('heard.');
  expect(complaints.length).toBeGreaterThan(0);
  for (const each of leave) each();
});

it('keeps nothing of whoever could not be connected', async () => {
  const gone = (): Sink => {
    throw new Error('gone');
  };
  const filter = {
    user: 'op',
    addresses: [],
    command: 'events',
    line: '',
    kinds: eventKinds,
    range: undefined,
    ranges: {},
  };
  const audience = { user: 'op', token: undefined, login: undefined, filter, after: undefined, seconds: undefined };
  expect(() => hub.listen(audience, gone)).toThrow('gone');
  expect(hub.isHeard).toBe(false);
});
