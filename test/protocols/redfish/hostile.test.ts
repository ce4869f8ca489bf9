import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Unreachable } from '../../../src/core/errors.ts';
import { RedfishClient, type RedfishOptions, type RedfishService } from '../../../src/protocols/redfish/client.ts';
import { memberResources, membersOf } from '../../../src/protocols/redfish/collection.ts';
import { drip, flood, jsonAnswer, type RawRequest, type RawTls, rawTls } from '../../lab/raw-tls.ts';
import { memoryTrust } from './memory-trust.ts';

const address = '127.111.9.20';
const signal = new AbortController().signal;
/** For what is answered: no machine is too busy for it. */
const patience = 60_000;
/** For what is never answered: it may pass as early as it likes, once the service has been let in. */
const brief = 500;
const link = (path: string) => ({ '@odata.id': path });
const root = { Links: {}, Systems: link('/s') };

let server: RawTls | undefined;
let client: RedfishClient;

beforeEach(() => {
  client = new RedfishClient({ trust: memoryTrust(), requestTimeout: patience });
});
afterEach(async () => {
  await client.close();
  await server?.stop();
  server = undefined;
});

/** A service that answers its root and a login properly, and everything else as it is told. */
async function hostile(
  answer: (socket: TLSSocket, request: RawRequest) => void,
  { tls = {}, ...options }: Partial<RedfishOptions> & { tls?: Parameters<typeof rawTls>[2] } = {},
): Promise<RedfishService> {
  server = await rawTls(
    address,
    (socket, request) => (request.path === '/redfish/v1/' ? socket.write(jsonAnswer(root)) : answer(socket, request)),
    tls,
  );
  if (Object.keys(options).length > 0) {
    await client.close();
    client = new RedfishClient({ trust: memoryTrust(), requestTimeout: patience, ...options });
  }
  return client.service({ address, port: server.port, username: 'u', password: 'p' });
}

const isClosed = () => expect.poll(() => server!.open.size, { timeout: patience }).toBe(0);

const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const kilobyte = `400\r\n${'x'.repeat(1_024)}\r\n`;
const early = (status: string): string => `HTTP/1.1 ${status}\r\nlink: </x>; rel=preload\r\n\r\n`;

describe('an answer that never ends', () => {
  it.each<[what: string, answer: (socket: TLSSocket) => void, fault: RegExp | typeof Unreachable]>([
    [
      'a body without a length',
      (socket) => {
        socket.write(chunked);
        flood(socket, kilobyte);
      },
      /answered GET \/s with more than 1048576 bytes/,
    ],
    ['answers before the answer, 103', (socket) => flood(socket, early('103 Early Hints')), /with 103 again and again/],
    ['answers before the answer, 102', (socket) => flood(socket, early('102 Processing')), /with 102 again and again/],
    [
      'answers before the answer, 100',
      (socket) => flood(socket, early('100 Continue')),
      /sent something that does not answer the request/,
    ],
    [
      'another protocol',
      (socket) => socket.write(early('101 Switching\r\nupgrade: x\r\nconnection: upgrade')),
      /does not answer the request/,
    ],
    [
      'headers',
      (socket) => {
        let i = 0;
        socket.write('HTTP/1.1 200 OK\r\n');
        flood(socket, () => `x-${i++}: ${'y'.repeat(100)}\r\n`);
      },
      /does not speak HTTP/,
    ],
    [
      'one header',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nx: ');
        flood(socket, 'y'.repeat(1_000));
      },
      /does not speak HTTP/,
    ],
    [
      'headers behind the body',
      (socket) => {
        socket.write(`${chunked}2\r\n{}\r\n0\r\n`);
        flood(socket, 'x-trailer: y\r\n');
      },
      /does not speak HTTP/,
    ],
    [
      'a byte of the headers now and then',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nx: ');
        drip(socket, 'y', 20);
      },
      Unreachable,
    ],
    [
      'a byte of the body now and then',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n{');
        drip(socket, ' ', 20);
      },
      Unreachable,
    ],
    ['an early answer now and then', (socket) => drip(socket, early('103 Early Hints'), 100), Unreachable],
    ['nothing at all', () => {}, Unreachable],
  ])('%s', async (_, answer, fault) => {
    // What comes without end is ended by its amount, however slow this machine is; the rest by time.
    const service = await hostile(answer, fault === Unreachable ? { requestTimeout: brief } : {});
    const asked = service.get('/s', signal);
    if (fault === Unreachable) {
      await expect(asked).rejects.toBeInstanceOf(Unreachable);
      await expect(asked).rejects.toMatchObject({
        message: expect.stringMatching(/did not answer within \d+(\.\d)? s/),
      });
    } else
      await expect(asked).rejects.toMatchObject({ kind: 'garbled', message: expect.stringMatching(fault as RegExp) });
    await isClosed();
  });

  // What belongs to no body and no header is counted by nobody but the one who looks at connections now and then.
  it.each<[what: string, begin: string, piece: string]>([
    ['words behind the status', 'HTTP/1.1 200 ', 'y'.repeat(16_384)],
    ['words behind the size of a chunk', `${chunked}2;`, 'y'.repeat(16_384)],
    ['empty lines', '', '\r\n'.repeat(8_192)],
  ])('%s, as fast as they go and slowly', async (_, begin, piece) => {
    const quick = await hostile((socket) => {
      socket.write(begin);
      flood(socket, piece);
    });
    await expect(quick.get('/s', signal)).rejects.toMatchObject({ kind: 'garbled', message: /bytes within a second/ });
    await isClosed();
    await server!.stop();
    const slow = await hostile(
      (socket) => {
        socket.write(begin);
        drip(socket, piece, 50);
      },
      { requestTimeout: brief },
    );
    await expect(slow.get('/s', signal)).rejects.toBeInstanceOf(Unreachable);
    await isClosed();
  });

  it('is left when whoever asked has gone', async () => {
    const service = await hostile((socket) => drip(socket, early('103 Early Hints'), 60));
    const gone = new AbortController();
    const asked = service.get('/s', gone.signal);
    await expect.poll(() => server!.asked.length, { timeout: patience }).toBe(2);
    gone.abort();
    await expect(asked).rejects.toMatchObject({ kind: 'deadline' });
    await isClosed();
  });

  it('does not keep the next request from a good answer', async () => {
    let good = false;
    const service = await hostile((socket) => (good ? socket.write(jsonAnswer({ a: 1 })) : drip(socket, '\r\n', 20)), {
      requestTimeout: brief,
    });
    await expect(service.get('/s', signal)).rejects.toBeInstanceOf(Unreachable);
    good = true;
    const ask = () =>
      service.get('/s', signal).then(
        ({ body }) => body,
        () => undefined,
      );
    await expect.poll(ask, { timeout: patience }).toEqual({ a: 1 });
  });
});

describe('an answer that is too much', () => {
  const refusal = async (body: string | object, kind?: 'collection') =>
    (await hostile((socket) => socket.write(jsonAnswer(body)))).find('/s', signal, kind).then(
      () => 'read',
      (error: unknown) => error,
    );
  const garbled = (message: RegExp) =>
    expect.objectContaining({ kind: 'garbled', message: expect.stringMatching(message) });
  const list = (bytes: number, item: string) => `{"Members":[${`${item},`.repeat(bytes / (item.length + 1))}${item}]}`;

  it('of bytes', async () => {
    expect(await refusal({ a: 'x'.repeat(1024 * 1024) })).toEqual(garbled(/more than 1048576 bytes/));
    expect(await refusal({ a: 'x'.repeat(1024 * 1024) }, 'collection')).toEqual(garbled(/a part of more than 1048576/));
    expect(await refusal(list(9 * 1024 * 1024, '{}'), 'collection')).toEqual(garbled(/more than 8388608 bytes/));
  });

  it('of values in few bytes', async () => {
    expect(await refusal(list(900_000, '{}'))).toEqual(garbled(/has more than 50000 values/));
    expect(await refusal(list(8_000_000, '{}'), 'collection')).toEqual(garbled(/has more than 400000 values/));
    expect(await refusal(list(8_000_000, '[[[]]]'), 'collection')).toEqual(garbled(/has more than 400000 values/));
    expect(await refusal(`{"a":${list(900_000, '1')}}`, 'collection')).toEqual(garbled(/more than 50000 values/));
    expect(await refusal(`{"Members":[${list(500_000, '1')}]}`, 'collection')).toEqual(garbled(/50000 values/));
  });

  it('of levels', async () => {
    const deep = `${'['.repeat(70)}${']'.repeat(70)}`;
    expect(await refusal(`{"a":${deep}}`)).toEqual(garbled(/deeper than 64 levels/));
    expect(await refusal(`{"a":"${'x'.repeat(70_000)}","Members":[${deep}]}`, 'collection')).toEqual(garbled(/deeper/));
  });

  it('of words about an error', async () => {
    const said = (length: number) => JSON.stringify({ error: { message: `No. ${'x'.repeat(length)}` } });
    for (const [length, sentence] of [
      [100, /answered 500 to GET \/s\. It says: No\. x/],
      [7_000_000, /answered 500 to GET \/s\.$/],
    ] as const) {
      const service = await hostile((socket) => socket.write(jsonAnswer(said(length), '500 Oh')));
      await expect(service.find('/s', signal, 'collection')).rejects.toMatchObject({ status: 500, message: sentence });
      await server!.stop();
    }
  });

  it('when it is unpacked: nothing is', async () => {
    const packed = gzipSync('x'.repeat(50_000_000));
    const service = await hostile((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${packed.length}\r\n\r\n`);
      socket.write(packed);
    });
    await expect(service.get('/s', signal)).rejects.toMatchObject({ kind: 'garbled', message: /is not JSON/ });
  });

  it('for one command, piece by piece', async () => {
    const service = await hostile((socket) => socket.write(jsonAnswer({ a: 'x'.repeat(100_000) })), {
      commandSize: 1_000_000,
    });
    const ask = async (): Promise<number> => {
      for (let i = 0; i < 20; i++)
        await service.get(`/s?${i}`, signal).catch((error: unknown) => {
          expect(error).toEqual(garbled(/sent more than 1000000 bytes for one command/));
          return Promise.reject(i);
        });
      return 20;
    };
    service.begin(0);
    await expect(ask()).rejects.toBe(9);
    service.begin(0);
    await expect(ask()).rejects.toBe(9);
  });

  it('of parts', async () => {
    const members = Array.from({ length: 5_001 }, (_, i) => link(`/s/${i}`));
    const service = await hostile((socket) => socket.write(jsonAnswer({ Members: members })));
    await expect(memberResources(service, '/s', signal)).rejects.toEqual(
      garbled(/lists 5001 parts; muster reads at most 5000/),
    );
  });

  it('of pieces, which are not kept apart', async () => {
    const pieces = '1\r\n \r\n'.repeat(10_000);
    const service = await hostile((socket) => {
      socket.write(`${chunked}1\r\n{\r\n`);
      for (let i = 0; i < 80; i++) socket.write(pieces);
      socket.write('1\r\n}\r\n0\r\n\r\n');
    });
    const before = process.memoryUsage.rss();
    expect((await service.get('/s', signal)).body).toEqual({});
    expect(process.memoryUsage.rss() - before).toBeLessThan(100 << 20);
  });

  it('of large answers of all services together', async () => {
    const half = `HTTP/1.1 200 OK\r\ncontent-length: 900000\r\n\r\n{"a":"${'x'.repeat(500_000)}`;
    await hostile((socket) => socket.write(half), { replyMemory: 500_000 });
    const services = Array.from({ length: 4 }, (_, i) =>
      client.service({ key: `n${i}`, address, port: server!.port, username: `u${i}`, password: 'p' }),
    );
    for (let round = 0; round < 2; round++) {
      const gone = new AbortController();
      const reasons: { kind: string; message: string }[] = [];
      const asked = services.map((service) => service.get('/s', gone.signal).catch((reason) => reasons.push(reason)));
      await expect.poll(() => reasons.length, { timeout: patience }).toBe(2);
      for (const { kind, message } of reasons)
        expect([kind, message]).toEqual(['unavailable', expect.stringMatching(/at once; try again/)]);
      // The others have their room until they are left.
      gone.abort();
      await Promise.all(asked);
      expect(reasons.slice(2).map(({ kind }) => kind)).toEqual(['deadline', 'deadline']);
      await isClosed();
    }
  });
});

describe('a command that is kept going', () => {
  it('by redirections is ended after a few', async () => {
    let i = 0;
    const service = await hostile((socket) => socket.write(jsonAnswer({}, '302 Found', `location: /s${++i}\r\n`)));
    await expect(service.get('/s', signal)).rejects.toMatchObject({ status: 302, message: /answered 302 to GET \/s/ });
    expect(server!.asked.filter(({ path }) => path.startsWith('/s'))).toHaveLength(4);
  });

  it('by pages is ended after the time for a command', async () => {
    let i = 0;
    const page = () => ({ Members: [{}], 'Members@odata.nextLink': `/s?${++i}` });
    const service = await hostile((socket) => setTimeout(() => socket.write(jsonAnswer(page())), 20), {
      commandTime: 200,
    });
    service.begin(100);
    await expect(membersOf(service, '/s', signal)).rejects.toMatchObject({
      kind: 'deadline',
      message: /had not answered all questions after 0.3 s/,
    });
  });

  it('by a task that never ends', async () => {
    const service = await hostile(
      (socket) =>
        socket.write(jsonAnswer({ TaskState: 'Running' }, '202 Accepted', 'location: /t\r\nretry-after: 0\r\n')),
      { commandTime: 600 },
    );
    service.begin(0);
    await expect(service.act('/s', {}, signal)).rejects.toMatchObject({ kind: 'deadline' });
  });
});

describe('a large collection', () => {
  it('is read as it is, whatever is around and in its members', async () => {
    const odd = ['},{', ']', '"', '\\', '\u2028', '"Members":[', 'é😀', ','];
    const members = Array.from({ length: 12_000 }, (_, i) => ({
      ...link(`/s/${i}`),
      Id: String(i),
      Message: `${odd[i % odd.length]!}${'x'.repeat(300)}`,
      Nested: { Members: [i, [], {}, null, true], Text: odd[(i + 3) % odd.length] },
    }));
    const body = {
      Name: '"Members": [',
      Before: { Members: [1] },
      Members: members,
      After: [[]],
      'Members@odata.count': 1,
    };
    const text = JSON.stringify(body);
    expect(text.length).toBeGreaterThan(4_000_000);
    for (const shape of [text, text.replace('"Members":[{', '"Members"\n :\t[ {'), `\uFEFF${text}`]) {
      const service = await hostile((socket) => socket.write(jsonAnswer(shape)));
      const found = await service.find('/s', signal, 'collection');
      expect(found?.body).toEqual(body);
      expect(await membersOf(service, '/s', signal)).toHaveLength(12_000);
      await server!.stop();
    }
  });

  it.each([
    ['without members', `{"a":"${'x'.repeat(100_000)}"}`, { a: 'x'.repeat(100_000) }],
    ['with none', `{"a":"${'x'.repeat(100_000)}","Members": [ ]}`, { a: 'x'.repeat(100_000), Members: [] }],
    ['that breaks off', `{"a":"${'x'.repeat(100_000)}","Members":[{},{`, /is not JSON/],
    ['with a comma too many', `{"a":"${'x'.repeat(100_000)}","Members":[{},]}`, /is not JSON/],
    ['that is closed twice', `{"a":"${'x'.repeat(100_000)}","Members":[{}]]}`, /is not JSON/],
    ['that is a list', `[${'1,'.repeat(40_000)}1]`, /is not a JSON object/],
  ])('%s', async (_, text, expected) => {
    const service = await hostile((socket) => socket.write(jsonAnswer(text)));
    const found = service.find('/s', signal, 'collection');
    if (expected instanceof RegExp) await expect(found).rejects.toMatchObject({ kind: 'garbled', message: expected });
    else expect((await found)?.body).toEqual(expected);
  });
});

describe('a connection', () => {
  it('whose handshake is never answered is given up', async () => {
    const sockets = new Set<{ destroy(): void }>();
    const silent = createServer((socket) => sockets.add(socket.on('error', () => {}).resume()));
    silent.listen(0, address);
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    await client.close();
    client = new RedfishClient({ trust: memoryTrust(), connectTimeout: 300 });
    const service = client.service({ address, port, username: 'u', password: 'p' });
    await expect(service.get('/s', signal)).rejects.toBeInstanceOf(Unreachable);
    const connections = () => new Promise((resolve) => silent.getConnections((_, count) => resolve(count)));
    await expect.poll(connections, { timeout: patience }).toBe(0);
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it('is not made with numbers that the service picks to keep us computing', async () => {
    const service = await hostile((socket) => socket.write(jsonAnswer({})), {
      tls: { maxVersion: 'TLSv1.2', ciphers: 'DHE-RSA-AES128-GCM-SHA256', dhparam: 'auto' },
    });
    await expect(service.get('/s', signal)).rejects.toMatchObject({ kind: 'garbled', message: /ciphers/ });
  });

  it('is not negotiated again, however often the service asks for it', async () => {
    let handshakes = 0;
    const service = await hostile(
      (socket) => {
        socket.renegotiate({}, (error) => {
          if (!error) handshakes++;
        });
        socket.write(jsonAnswer({ a: 1 }));
      },
      { tls: { maxVersion: 'TLSv1.2' } },
    );
    for (let i = 0; i < 3; i++) await service.get('/s', signal).catch(() => undefined);
    expect(handshakes).toBe(0);
  });
});

describe('a service that is busy or tired', () => {
  const body = { Id: 'S' };

  it('is asked again after the time it says, and told as busy when that goes on', async () => {
    let asked = 0;
    const busy = jsonAnswer({}, '503 Service Unavailable', 'retry-after: 0\r\n');
    const service = await hostile((socket) => void socket.write(asked++ < 3 ? busy : jsonAnswer(body)));
    expect((await service.get('/s', signal)).body).toEqual(body);
    expect(asked).toBe(4);
    asked = Number.NEGATIVE_INFINITY;
    await expect(service.get('/s', signal)).rejects.toMatchObject({ kind: 'unavailable', status: 503 });
  });

  it('that closes connections without an answer is asked again for what only reads', async () => {
    let asked = 0;
    const service = await hostile((socket) => {
      if (asked++ < 3) socket.destroy();
      else socket.write(jsonAnswer(body));
    });
    expect((await service.get('/s', signal)).body).toEqual(body);
    expect(asked).toBe(4);
  });

  it('that fails at one of its sensors has the others', async () => {
    const service = await hostile((socket, { path }) => {
      if (path === '/s') socket.write(jsonAnswer({ Members: ['/1', '/2', '/3'].map(link) }));
      else socket.write(path === '/2' ? jsonAnswer({}, '500 Internal Server Error') : jsonAnswer({ Id: path }));
    });
    const read = async (onBroken: 'failAll' | 'leaveOut') =>
      (await memberResources(service, '/s', signal, onBroken)).map(({ path }) => path);
    expect(await read('leaveOut')).toEqual(['/1', '/3']);
    await expect(read('failAll')).rejects.toMatchObject({ status: 500 });
  });
});
