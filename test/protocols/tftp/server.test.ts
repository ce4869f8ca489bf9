import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import * as fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Source, TftpRefusal, TftpServer } from '../../../src/protocols/tftp/server.ts';

const run = promisify(execFile);
const directory = mkdtempSync(join(tmpdir(), 'muster-test-tftp-'));
const host = '127.0.0.1';

const inMemory = (bytes: Buffer): Source => ({
  size: bytes.length,
  read: async (buffer, position) => bytes.copy(buffer, 0, position),
  close: async () => void closed++,
});

/** By name; `short` is one byte less than it says. */
const files: Record<string, Buffer> = {
  empty: Buffer.alloc(0),
  small: Buffer.from('#!ipxe\nboot\n'),
  block: randomBytes(512),
  odd: randomBytes(5 * 512 + 17),
  // Block numbers begin again after 65,535.
  large: randomBytes(70_000 * 512 + 3),
};
let opened = 0;
let closed = 0;
let asked: [string, string][] = [];
let ended: { name: string; complete: boolean }[] = [];
let server: TftpServer;
const serve = (address: string) =>
  TftpServer.listen({
    address,
    port: 0,
    async open(name, client) {
      asked.push([name, client]);
      if (name === 'broken') throw new Error('on fire');
      if (name === 'shrinking') return { ...inMemory(Buffer.alloc(0)), size: 2_000, read: async () => (opened++, 0) };
      const bytes = files[name];
      if (!bytes) throw new TftpRefusal('notFound', 'There is no such file.');
      opened++;
      return inMemory(bytes);
    },
    ended: (transfer) => void ended.push(transfer),
  });

beforeAll(async () => {
  server = await serve(host);
});
afterAll(async () => {
  await server.close();
  expect(closed).toBe(opened);
  rmSync(directory, { recursive: true });
});
beforeEach(() => {
  asked = [];
  ended = [];
});

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

describe('clients that others wrote', () => {
  const target = join(directory, 'fetched');
  const clients: Record<string, (name: string, port: number) => [string, string[]]> = {
    curl: (name, port) => ['curl', ['-sSf', '-o', target, `tftp://${host}:${port}/${name}`]],
    'curl with large blocks': (name, port) => [
      'curl',
      ['-sSf', '--tftp-blksize', '1468', '-o', target, `tftp://${host}:${port}/${name}`],
    ],
    'curl without options': (name, port) => [
      'curl',
      ['-sSf', '--tftp-no-options', '-o', target, `tftp://${host}:${port}/${name}`],
    ],
    'tftp-hpa': (name, port) => ['tftp', ['-m', 'binary', host, String(port), '-c', 'get', name, target]],
    'atftp with a window': (name, port) => [
      'atftp',
      ['--option', 'windowsize 8', '--option', 'blksize 1428', '-g', '-r', name, '-l', target, host, String(port)],
    ],
    busybox: (name, port) => ['busybox', ['tftp', '-g', '-r', name, '-l', target, '-b', '1400', host, String(port)]],
  };

  describe.each(Object.keys(clients))('%s', (client) => {
    // curl takes a size of 0 for an error.
    const names = ['small', 'block', 'odd', 'large', ...(client.startsWith('curl') ? [] : ['empty'])];
    it.each(names)('gets the file %s as it is', async (name) => {
      rmSync(target, { force: true });
      const [program, args] = clients[client]!(name, server.port);
      await run(program, args);
      expect(digest(readFileSync(target))).toBe(digest(files[name]!));
      expect(asked).toEqual([[name, host]]);
      await expect.poll(() => ended).toEqual([{ name, client: host, complete: true }]);
    });
  });

  it('hear why a file is not sent', async () => {
    // curl's own numbers for "not found" and "not permitted".
    const failure = run('curl', ['-sS', `tftp://${host}:${server.port}/nosuch`]);
    await expect(failure).rejects.toMatchObject({ code: 68 });
    const putting = run('curl', ['-sS', '-T', '/etc/hostname', `tftp://${host}:${server.port}/x`]);
    await expect(putting).rejects.toMatchObject({ code: 69 });
  });

  it('get files over IPv6', async () => {
    const six = await serve('::1');
    await run('curl', ['-sSf', '-o', target, '--tftp-blksize', '1468', `tftp://[::1]:${six.port}/odd`]);
    expect(digest(readFileSync(target))).toBe(digest(files['odd']!));
    expect(asked).toEqual([['odd', '::1']]);
    await six.close();
  });
});

/** A client of which every packet is seen. */
class RawClient {
  readonly #socket: Socket;
  readonly packets: { packet: Buffer; port: number }[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (packet, { port }) => this.packets.push({ packet, port }));
  }

  static async open(): Promise<RawClient> {
    const socket = createSocket('udp4');
    socket.bind(0, host);
    await once(socket, 'listening');
    return new RawClient(socket);
  }

  send(packet: Buffer, port = server.port): void {
    this.#socket.send(packet, port, host);
  }

  async next(): Promise<{ packet: Buffer; port: number }> {
    await expect.poll(() => this.packets.length, { interval: 5, timeout: 10_000 }).toBeGreaterThan(0);
    return this.packets.shift()!;
  }

  close(): void {
    this.#socket.close();
  }
}

const readRequest = (name: string, options: Record<string, string> = {}, mode = 'octet') =>
  Buffer.from(`\0\x01${[name, mode, ...Object.entries(options).flat()].join('\0')}\0`, 'latin1');
const acknowledge = (block: number) => Buffer.from([0, 4, block >> 8, block & 255]);

describe('one client', () => {
  it('is told the options that are agreed on, and gets its window again from where it stands', async () => {
    const client = await RawClient.open();
    client.send(readRequest('odd', { BLKSIZE: '512', windowsize: '4', tsize: '0' }));
    const { packet, port } = await client.next();
    expect(packet.toString('latin1')).toBe('\0\x06blksize\x00512\0tsize\x002577\0windowsize\x004\0');
    client.send(acknowledge(0), port);
    const blocks = async (count: number) => {
      const found: number[] = [];
      for (let i = 0; i < count; i++) found.push((await client.next()).packet.readUInt16BE(2));
      return found;
    };
    expect(await blocks(4)).toEqual([1, 2, 3, 4]);
    // The third was lost.
    client.send(acknowledge(2), port);
    expect(await blocks(4)).toEqual([3, 4, 5, 6]);
    client.send(acknowledge(6), port);
    await expect.poll(() => ended).toEqual([{ name: 'odd', client: host, complete: true }]);
    client.close();
  });

  it('gets nothing twice for an acknowledgement that comes twice, and the block again when it says nothing', async () => {
    const client = await RawClient.open();
    client.send(readRequest('odd'));
    const first = await client.next();
    expect(first.packet.subarray(4)).toEqual(files['odd']!.subarray(0, 512));
    for (let i = 0; i < 5; i++) client.send(acknowledge(1), first.port);
    expect((await client.next()).packet.readUInt16BE(2)).toBe(2);
    client.send(acknowledge(1), first.port);
    client.send(acknowledge(40_000), first.port);
    expect((await client.next()).packet.readUInt16BE(2)).toBe(2);
    expect(client.packets).toEqual([]);
    client.send(Buffer.from('\0\x05\0\0enough\0', 'latin1'), first.port);
    await expect.poll(() => ended).toEqual([{ name: 'odd', client: host, complete: false }]);
    client.close();
  });

  it('that sends its request twice gets one transfer, from one port', async () => {
    const client = await RawClient.open();
    for (let i = 0; i < 3; i++) client.send(readRequest('odd'));
    const { port } = await client.next();
    await wait(50);
    expect(client.packets.every((each) => each.port === port)).toBe(true);
    expect(asked).toEqual([['odd', host]]);
    client.send(Buffer.from('\0\x05\0\0\0', 'latin1'), port);
    await expect.poll(() => ended.length).toBe(1);
    client.close();
  });

  it('gets nothing for a request that is longer than requests are', async () => {
    const client = await RawClient.open();
    client.send(readRequest('nosuch', { long: 'x'.repeat(40_000) }));
    for (const name of ['nosuch-a', 'nosuch-b']) {
      client.send(readRequest(name));
      await client.next();
    }
    expect(client.packets).toEqual([]);
    expect(asked.map(([name]) => name)).toEqual(['nosuch-a', 'nosuch-b']);
    client.close();
  });

  it('is not disturbed by packets of another', async () => {
    const [client, other] = [await RawClient.open(), await RawClient.open()];
    client.send(readRequest('odd'));
    const { port } = await client.next();
    other.send(Buffer.from('\0\x05\0\0stop\0', 'latin1'), port);
    other.send(acknowledge(1), port);
    client.send(acknowledge(1), port);
    expect((await client.next()).packet.readUInt16BE(2)).toBe(2);
    client.send(Buffer.from('\0\x05\0\0\0', 'latin1'), port);
    await expect.poll(() => ended.length).toBe(1);
    for (const each of [client, other]) each.close();
  });

  it.each<[string, Buffer, number, RegExp]>([
    ['asks to write', Buffer.from('\0\x02x\0octet\0', 'latin1'), 2, /only be read/],
    ['asks for text with converted lines', readRequest('small', {}, 'netascii'), 4, /mode octet/],
    ['asks for what is not there', readRequest('../../etc/shadow'), 1, /no such file/],
    ['asks for what cannot be opened', readRequest('broken'), 0, /cannot be sent/],
  ])('that %s hears so', async (_, request, code, message) => {
    const client = await RawClient.open();
    client.send(request);
    const { packet } = await client.next();
    expect([packet.readUInt16BE(0), packet.readUInt16BE(2), packet.toString('utf8', 4)]).toEqual([
      5,
      code,
      expect.stringMatching(message),
    ]);
    client.close();
  });

  it('that reads a file which becomes shorter hears so, and the file is closed', async () => {
    const client = await RawClient.open();
    client.send(readRequest('shrinking'));
    expect((await client.next()).packet.readUInt16BE(0)).toBe(5);
    await expect.poll(() => ended).toEqual([{ name: 'shrinking', client: host, complete: false }]);
    client.close();
  });

  it('that has answered nothing yet gets its first answer once more and then nothing, whatever timeout it wants', async () => {
    const [plain, timid] = [await RawClient.open(), await RawClient.open()];
    plain.send(readRequest('odd'));
    timid.send(readRequest('odd', { timeout: '255' }));
    await expect.poll(() => ended.length, { timeout: 20_000 }).toBe(2);
    expect(plain.packets.map(({ packet }) => packet.length)).toEqual([4 + 512, 4 + 512]);
    expect(timid.packets.map(({ packet }) => packet.toString('latin1'))).toEqual([
      '\0\x06timeout\x00255\0',
      '\0\x06timeout\x00255\0',
    ]);
    for (const each of [plain, timid]) each.close();
  });

  it('gets its first block again when it sends its request again', async () => {
    const client = await RawClient.open();
    client.send(readRequest('odd'));
    const first = await client.next();
    client.send(readRequest('odd'));
    expect(await client.next()).toEqual(first);
    client.send(acknowledge(1), first.port);
    expect((await client.next()).packet.readUInt16BE(2)).toBe(2);
    client.send(Buffer.from('\0\x05\0\0\0', 'latin1'), first.port);
    await expect.poll(() => ended.length).toBe(1);
    client.close();
  });
});

describe('a flood', () => {
  const target = join(directory, 'meanwhile');
  /** A client that others wrote gets a file. */
  const fetched = async (): Promise<string> => {
    rmSync(target, { force: true });
    await run('atftp', ['--option', 'blksize 1428', '-g', '-r', 'odd', '-l', target, host, String(server.port)]);
    return digest(readFileSync(target));
  };
  /** As many requests from addresses of their own, each of which must have been opened. */
  const flood = async (addresses: number, each: number, hear?: (socket: Socket, port: number) => void) => {
    const sockets: Socket[] = [];
    for (let i = 0; i < addresses; i++) {
      const socket = createSocket('udp4');
      socket.bind(0, `127.8.${Math.floor(i / 250)}.${1 + (i % 250)}`);
      await once(socket, 'listening');
      if (hear) socket.on('message', (_, { port }) => hear(socket, port));
      sockets.push(socket);
      const before = asked.length;
      for (let j = 0; j < each; j++)
        socket.send(readRequest('odd', { timeout: '255', n: String(j) }), server.port, host);
      await expect.poll(() => asked.length, { interval: 1 }).toBe(before + each);
    }
    return () => sockets.forEach((socket) => socket.close());
  };

  it('of 4,100 requests that nobody answers to keeps nobody from booting', async () => {
    const close = await flood(512, 9);
    expect(await fetched()).toBe(digest(files['odd']!));
    close();
  });

  it('of requests in the name of one machine does not keep it from booting', async () => {
    const client = await RawClient.open();
    for (let j = 0; j < 300; j++) client.send(readRequest('odd', { timeout: '255', n: String(j) }));
    await expect.poll(() => asked.length).toBeGreaterThan(32);
    expect(await fetched()).toBe(digest(files['odd']!));
    client.close();
  });

  it('of clients that answer once and then no more keeps nobody from booting', async () => {
    const close = await flood(128, 32, (socket, port) => socket.send(acknowledge(0), port, host));
    expect(await fetched()).toBe(digest(files['odd']!));
    close();
  });
});

it('500 clients at once get their files', async () => {
  const fetched = await Promise.all(
    Array.from({ length: 500 }, async (_, i) => {
      // Each from an address of its own, as machines have them.
      const socket = createSocket('udp4');
      socket.bind(0, `127.9.${1 + Math.floor(i / 250)}.${1 + (i % 250)}`);
      await once(socket, 'listening');
      const parts: Buffer[] = [];
      const done = Promise.withResolvers<void>();
      let next = 1;
      const again = setInterval(() => next === 1 && socket.send(readRequest('odd'), server.port, host), 1_000);
      socket.on('message', (packet, { port }) => {
        if (packet.readUInt16BE(0) !== 3) return;
        // What was acknowledged before comes again when the acknowledgement was lost.
        socket.send(acknowledge(packet.readUInt16BE(2)), port, host);
        if (packet.readUInt16BE(2) !== next) return;
        next++;
        parts.push(packet.subarray(4));
        if (packet.length < 516) done.resolve();
      });
      socket.send(readRequest('odd'), server.port, host);
      await done.promise;
      clearInterval(again);
      socket.close();
      return digest(Buffer.concat(parts));
    }),
  );
  expect(new Set(fetched)).toEqual(new Set([digest(files['odd']!)]));
});

it('noise leaves it as it is', async () => {
  const client = await RawClient.open();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), fc.integer({ min: 0, max: 7 }), (bytes, operation) => {
      client.send(Buffer.from(bytes));
      client.send(Buffer.concat([Buffer.from([0, operation]), bytes]));
    }),
    { numRuns: 300, seed: 11 },
  );
  await wait(100);
  client.close();
  const other = await RawClient.open();
  await expect
    .poll(
      async () => {
        other.send(readRequest('small'));
        await wait(50);
        return other.packets.shift()?.packet.toString('utf8', 4);
      },
      { timeout: 30_000 },
    )
    .toBe('#!ipxe\nboot\n');
  other.close();
});
