import { expect, test } from 'vitest';
import { Channel, readFrame } from '../../src/bus/channel.ts';
import { encoded } from '../../src/bus/messages.ts';
import { Carrier } from '../../src/consoles/carrier.ts';
import { Fault, Unreachable } from '../../src/core/errors.ts';
import type { Console, DeviceTarget, OpenConsole } from '../../src/drivers/index.ts';
import { CarriedConsoles } from '../../src/worker/carried-consoles.ts';
import type { OwnServices } from '../../src/worker/services.ts';

/** Both ends of a channel, as NATS joins them. */
function linked(): { server: Channel; worker: Channel } {
  const ends: { server?: Channel; worker?: Channel } = {};
  const to = (end: 'server' | 'worker') => (frame: Uint8Array) =>
    queueMicrotask(() => ends[end]!.receive(readFrame(frame)!));
  ends.server = new Channel({ transmit: to('worker'), largest: 1 << 24 });
  ends.worker = new Channel({ transmit: to('server'), largest: 1 << 24 });
  return ends as { server: Channel; worker: Channel };
}

const target: DeviceTarget = {
  driver: 'wire',
  device: 'wire 1',
  address: '10.0.0.1',
  width: 1,
  access: { password: 'secret-of-n1' },
};
const never = new AbortController().signal;

interface Kept {
  readonly errors: string[];
  readonly learned: string[];
}

function carrierOn(server: Channel): { carrier: Carrier } & Kept {
  const [errors, learned]: [string[], string[]] = [[], []];
  const trust = {
    certificate: async (node: string, print: string) => void learned.push(`${node} ${print}`),
    hostKey: async (node: string, key: string) => void learned.push(`${node} ${key}`),
  };
  const log = { error: (...words: unknown[]) => void errors.push(words.join(' ')) };
  return { carrier: new Carrier({ name: 'sn1', open: () => server }, trust, log as never), errors, learned };
}

interface Opened {
  readonly console: OpenConsole;
  readonly printed: () => string;
  readonly cut: () => number;
  readonly closed: Promise<Error | undefined>;
}

async function openAt(carrier: Carrier, node = 'n1'): Promise<Opened> {
  let [printed, cut] = ['', 0];
  const closing = Promise.withResolvers<Error | undefined>();
  const console = await carrier.console(node, target).open(
    {
      takeOver: false,
      output: (bytes) => (printed += Buffer.from(bytes).toString()),
      cut: (bytes) => (cut += bytes),
      closed: closing.resolve,
    },
    never,
  );
  return { console, printed: () => printed, cut: () => cut, closed: closing.promise };
}

/** What a hostile worker gets, and says. */
function hostileWorker(channel: Channel): {
  orders: unknown[];
  say(...reports: unknown[]): void;
} {
  const orders: { is: string; id?: number }[] = [];
  const say = (...reports: unknown[]): void => void channel.send(encoded({ reports })).catch(() => {});
  void (async () => {
    for await (const message of channel) {
      const order = JSON.parse(Buffer.from(message).toString());
      orders.push(order);
      if (order.is === 'open') say({ is: 'opened', id: order.id, way: 'SOL 10.0.0.1' });
    }
  })();
  return { orders, say };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

test('a worker gets what it needs for the one console that it is asked for, and nothing of others', async () => {
  const ends = linked();
  const worker = hostileWorker(ends.worker);
  const { carrier } = carrierOn(ends.server);
  const { console } = await openAt(carrier);
  expect(console.way).toBe('SOL 10.0.0.1 from sn1');
  expect(worker.orders).toEqual([{ is: 'consoles' }, { is: 'open', id: 0, node: 'n1', target, takeOver: false }]);
  carrier.close();
});

test('a worker cannot speak for consoles that it was not asked for, nor teach more than the first certificate', async () => {
  const ends = linked();
  const worker = hostileWorker(ends.worker);
  const { carrier, learned } = carrierOn(ends.server);
  const { printed } = await openAt(carrier);
  const [certificate, other] = ['ab'.repeat(32), 'cd'.repeat(32)];
  worker.say(
    { is: 'output', id: 7, bytes: base64('not asked for') },
    { is: 'opened', id: 7, way: 'SOL' },
    { is: 'closed', id: 7 },
    { is: 'learned', id: 7, certificate: other },
    { is: 'learned', id: 0, certificate },
    { is: 'learned', id: 0, certificate: other },
    { is: 'done', id: 0, number: 12 },
    { is: 'opened', id: 0, way: 'twice' },
    { is: 'output', id: 0, bytes: base64('asked for') },
  );
  await expect.poll(printed).toBe('asked for');
  expect(learned).toEqual([`n1 ${certificate}`]);
  carrier.close();
});

test.each([
  ['no message at all', Buffer.from('{"reports":')],
  ['another schema', encoded({ reports: [{ is: 'output', id: 'n2', bytes: '' }] })],
  ['control characters for the terminals of people', encoded({ reports: [{ is: 'opened', id: 0, way: '\x1b]0;x' }] })],
  [
    'lines for the log',
    encoded({
      reports: [{ is: 'closed', id: 0, failure: { kind: 'invalid', sentences: ['a\nb'], unreachable: true } }],
    }),
  ],
  ['more characters than fit', encoded({ reports: [{ is: 'output', id: 0, bytes: 'A'.repeat(200_000) }] })],
  ['a message that is too large', Buffer.alloc(2 << 20, 'A')],
])('a worker that sends %s is cut off, and its consoles are opened in another way', async (_what, message) => {
  const ends = linked();
  hostileWorker(ends.worker);
  const { carrier, errors } = carrierOn(ends.server);
  const { console, closed } = await openAt(carrier);
  void ends.worker.send(message).catch(() => {});
  expect(await closed).toBeInstanceOf(Unreachable);
  expect([carrier.isOver, errors.length]).toEqual([true, 1]);
  await expect(console.write(Buffer.from('x'))).rejects.toThrow('not connected');
});

/** A worker with machines of its own. */
function realWorker(channel: Channel, machine: Console, lost: string[] = []): CarriedConsoles {
  const services = { console: () => ({ console: () => machine, release: () => {} }) } as unknown as OwnServices;
  const carried = new CarriedConsoles(services, {
    error: (...words: unknown[]) => void lost.push(words.join(' ')),
  } as never);
  void (async () => {
    const orders = channel[Symbol.asyncIterator]();
    await orders.next();
    await carried.take(channel, orders);
  })();
  return carried;
}

interface TestMachine extends Console {
  print(bytes: Uint8Array): void;
  readonly typed: string[];
  /** Typed characters wait until it takes them. */
  take(): void;
  readonly isOpen: boolean;
}

function testMachine(refusal?: Fault): TestMachine {
  const state = { isOpen: false, waiting: [] as (() => void)[] };
  const typed: string[] = [];
  let print: (bytes: Uint8Array) => void = () => {};
  return {
    typed,
    print: (bytes) => print(bytes),
    take: () => state.waiting.shift()!(),
    get isOpen() {
      return state.isOpen;
    },
    async open({ output, closed }) {
      if (refusal) throw refusal;
      [print, state.isOpen] = [output, true];
      return {
        way: 'wire',
        session: 17,
        write: (bytes) =>
          new Promise((resolve) => {
            typed.push(Buffer.from(bytes).toString());
            state.waiting.push(resolve);
          }),
        sendBreak: () => Promise.reject(new Fault('invalid', 'its console has no break.')),
        async close() {
          state.isOpen = false;
          closed();
        },
      };
    },
  };
}

test('who types waits for the machine, and hears what it cannot do', async () => {
  const ends = linked();
  const machine = testMachine();
  realWorker(ends.worker, machine);
  const { carrier } = carrierOn(ends.server);
  const { console } = await openAt(carrier);
  expect(console.session).toBe(17);
  let isTaken = false;
  const writing = console.write(Buffer.from('first')).then(() => (isTaken = true));
  await expect.poll(() => machine.typed).toEqual(['first']);
  await expect(console.sendBreak()).rejects.toThrow('its console has no break.');
  expect(isTaken).toBe(false);
  machine.take();
  await writing;
  await console.close();
  expect(machine.isOpen).toBe(false);
});

test('a machine that prints faster than the server takes it loses the middle, and the server hears how much', async () => {
  const ends = linked();
  const machine = testMachine();
  realWorker(ends.worker, machine);
  const { carrier } = carrierOn(ends.server);
  const { printed, cut } = await openAt(carrier);
  const piece = Buffer.alloc(64 * 1024, 'x');
  // In one turn: nothing of it can be on its way before.
  for (let i = 0; i < 40; i++) machine.print(piece);
  await expect.poll(cut).toBe(36 * piece.length);
  expect(printed()).toBe('x'.repeat(4 * piece.length));
  machine.print(Buffer.from('the end'));
  await expect.poll(() => printed().endsWith('the end')).toBe(true);
  carrier.close();
});

test('a worker that stops closes its consoles, and one whose server is gone too', async () => {
  const ends = linked();
  const machine = testMachine();
  const carried = realWorker(ends.worker, machine);
  const { carrier } = carrierOn(ends.server);
  const { closed } = await openAt(carrier);
  await carried.stop();
  expect([machine.isOpen, (await closed)?.message]).toEqual([false, 'The worker is stopping.']);

  const others = linked();
  realWorker(others.worker, machine);
  const other = carrierOn(others.server);
  await openAt(other.carrier);
  expect(machine.isOpen).toBe(true);
  others.worker.close(new Fault('unavailable', 'the server was not heard of.'));
  await expect.poll(() => machine.isOpen).toBe(false);
});

test('why a machine does not open reaches the server, without what a terminal would obey', async () => {
  for (const refusal of [
    new Unreachable('its BMC\x1b[2J does not answer.'),
    new Fault('conflict', 'it is in use by bob.'),
  ]) {
    const ends = linked();
    realWorker(ends.worker, testMachine(refusal));
    const { carrier } = carrierOn(ends.server);
    const error = await openAt(carrier).catch((fault: unknown) => fault);
    expect(error).toBeInstanceOf(refusal.constructor);
    expect((error as Fault).sentences).toEqual([refusal.sentences[0]!.replace('\x1b', ' ')]);
    carrier.close();
  }
});
