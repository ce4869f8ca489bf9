import { createSocket, type Socket } from 'node:dgram';
import { createServer, type Server, type Socket as Connection } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import { findServices } from '../../../src/protocols/slp/search.ts';
import type { Timing } from '../../../src/protocols/slp/asker.ts';
import {
  agentAdvert,
  attributeReply,
  message,
  overflow,
  readRequest,
  type Request,
  serviceReply,
} from '../../lab/slp/wire.ts';

// Agents on loopback that are asked one by one, so that each can misbehave in its own way.
const port = 20_427;
const type = 'service:lab';
// Loopback loses nothing, so waits can be short where nobody answers; where an answer to the last question counts they are longer.
const timing = { firstGap: 60, laterGap: 120, timeouts: [250, 500, 1_000], tcpTimeout: 500 };
const open: (Socket | Server)[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => new Promise<void>((resolve) => each.close(() => resolve()))));
});

type Answer = (request: Request, send: (packet: Buffer) => void, packet: Buffer) => void;

async function agent(last: number, answer: Answer): Promise<string> {
  const address = `127.93.0.${last}`;
  const socket = createSocket('udp4');
  open.push(socket);
  socket.on('message', (packet, from) =>
    answer(readRequest(packet), (reply) => socket.send(reply, from.port, from.address), packet),
  );
  await new Promise<void>((resolve) => socket.bind(port, address, resolve));
  return address;
}

async function listener(address: string, serve: (connection: Connection, request: Request) => void): Promise<void> {
  const server = createServer((connection) => {
    connection.on('error', () => {});
    connection.once('data', (packet) => serve(connection, readRequest(packet)));
  });
  open.push(server);
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
}

const url = (address: string, name = ''): string => `${type}${name}://${address}`;

/** An agent as it should be, with one service. */
const honest =
  (address: string, attributes = '(a=1)'): Answer =>
  ({ fn, xid, subject }, send) => {
    if (subject === type) send(serviceReply({ xid }, [url(address)]));
    if (fn === 6) send(attributeReply({ xid }, attributes));
  };

const unending = new AbortController().signal;
/** Searches end by themselves long before the limit, unless it is told. */
const find = (agents: string[], milliseconds = 60_000, signal = unending, other: Partial<Timing> = {}) =>
  findServices({ outlets: [], types: [type], agents, milliseconds, port, timing: { ...timing, ...other } }, signal);
const findWith = (other: Partial<Timing>, agents: string[]) => find(agents, undefined, undefined, other);

const service = (address: string, attributes: [string, string[]][] = [['a', ['1']]], more: object = {}) => ({
  type,
  url: url(address),
  address,
  fromDirectory: false,
  attributes: new Map(attributes),
  ...more,
});

const good = '127.93.0.1';
/** One that misbehaves beside one that does not; what is found. */
async function beside(answer: (address: string) => Answer, milliseconds?: number) {
  const bad = '127.93.0.2';
  await agent(1, honest(good));
  await agent(2, answer(bad));
  const found = await find([good, bad], milliseconds);
  expect(found).toContainEqual(service(good));
  return found.filter(({ address }) => address === bad);
}

describe('directed requests', () => {
  it('find services and their attributes, without the flag of multicasts and without previous responders', async () => {
    const requests: Request[] = [];
    await agent(1, (request, send, packet) => {
      requests.push(request);
      honest(good, '(serial-number=S1),(ip-address=10.0.0.1,10.0.0.2)')(request, send, packet);
    });
    expect(await findWith({ firstGap: 1_000 }, [good])).toEqual([
      service(good, [
        ['serial-number', ['S1']],
        ['ip-address', ['10.0.0.1', '10.0.0.2']],
      ]),
    ]);
    expect(
      requests.every(({ multicast, previous, scopes }) => !multicast && previous.length === 0 && scopes === 'DEFAULT'),
    ).toBe(true);
    // Who has answered is not asked again.
    expect(requests.filter(({ subject }) => subject === type)).toHaveLength(1);
    expect(requests.filter(({ fn }) => fn === 6).map(({ subject }) => subject)).toEqual([url(good)]);
  });

  it('are repeated to those who are silent', async () => {
    let lost = 2;
    await agent(1, (request, send, packet) => {
      if (lost > 0 && request.subject === type) lost--;
      else honest(good)(request, send, packet);
    });
    expect(await findWith({ laterGap: 500 }, [good])).toEqual([service(good)]);
  });

  it('for attributes are repeated too, with the same number', async () => {
    const numbers: number[] = [];
    await agent(1, (request, send, packet) => {
      if (request.fn === 6 && numbers.push(request.xid) < 3) return;
      honest(good)(request, send, packet);
    });
    expect(await find([good])).toEqual([service(good)]);
    expect(new Set(numbers).size).toBe(1);
  });

  it('are repeated to those who are busy', async () => {
    const busy = 10;
    const asked = new Map<number, number>();
    await agent(1, (request, send, packet) => {
      const { fn, xid } = request;
      asked.set(fn, (asked.get(fn) ?? 0) + 1);
      if (asked.get(fn)! > 2) honest(good)(request, send, packet);
      else send(fn === 6 ? attributeReply({ xid }, '', busy) : serviceReply({ xid }, [], busy));
    });
    expect(await findWith({ laterGap: 500 }, [good])).toEqual([service(good)]);
  });

  it('find nothing where nobody is', async () => {
    expect(await find(['127.93.0.9'])).toEqual([]);
  });

  it('find services that do not tell their attributes', async () => {
    expect(
      await beside(
        (address) =>
          ({ xid, subject }, send) =>
            void (subject === type && send(serviceReply({ xid }, [url(address)]))),
      ),
    ).toEqual([service('127.93.0.2', [])]);
  });
});

describe('agents that misbehave harm nobody', () => {
  it.each<[string, (address: string) => Answer]>([
    [
      'answer with a wrong number',
      (a) =>
        ({ xid }, send) =>
          send(serviceReply({ xid: xid ^ 0x5555 }, [url(a)])),
    ],
    [
      'answer with an error',
      (a) =>
        ({ xid }, send) =>
          send(serviceReply({ xid }, [url(a)], 2)),
    ],
    [
      'say they are longer than they are',
      (a) =>
        ({ xid }, send) =>
          send(serviceReply({ xid, length: 60_000 }, [url(a)])),
    ],
    [
      'say they are shorter than they are',
      (a) =>
        ({ xid }, send) =>
          send(serviceReply({ xid, length: 17 }, [url(a)])),
    ],
    ['answer with a request', () => (_request, send, packet) => send(packet)],
    [
      'answer with an attribute reply',
      () =>
        ({ xid }, send) =>
          send(attributeReply({ xid }, '(a=1)')),
    ],
    ['answer with noise', () => (_request, send) => send(Buffer.alloc(1_400, 0xa5))],
    ['answer with nothing', () => (_request, send) => send(Buffer.alloc(0))],
    [
      'answer with what is no URL',
      () =>
        ({ xid }, send) =>
          send(serviceReply({ xid }, ['', '\0\x01', 'a b', 'x'.repeat(2_000)])),
    ],
  ])('those who %s are not found', async (_name, answer) => {
    expect(await beside(answer)).toEqual([]);
  });

  it.each<[string, (address: string) => Answer, [string, string[]][]]>([
    [
      'another language',
      (a) =>
        ({ fn, xid, subject }, send) => {
          if (subject === type) send(serviceReply({ xid, language: 'x-klingon' }, [url(a)]));
          if (fn === 6) send(attributeReply({ xid, language: '' }, '(a=1)'));
        },
      [['a', ['1']]],
    ],
    [
      'a count of URLs that is too high',
      (a) =>
        ({ fn, xid, subject }, send) => {
          if (subject === type) send(serviceReply({ xid }, [url(a)], 0, 65_535));
          if (fn === 6) send(attributeReply({ xid }, '(a=1)'));
        },
      [['a', ['1']]],
    ],
    [
      'an error instead of attributes',
      (a) =>
        ({ fn, xid, subject }, send) => {
          if (subject === type) send(serviceReply({ xid }, [url(a)]));
          if (fn === 6) send(attributeReply({ xid }, '(a=1)', 1));
        },
      [],
    ],
    [
      'attributes that end early',
      (a) =>
        ({ fn, xid, subject }, send) => {
          if (subject === type) send(serviceReply({ xid }, [url(a)]));
          if (fn === 6) send(message(7, { xid }, Buffer.from([0, 0, 0xff, 0xff, 0x28])));
        },
      [],
    ],
  ])('those with %s are', async (_name, answer, attributes) => {
    expect(await beside(answer)).toEqual([service('127.93.0.2', attributes)]);
  });

  it('answers to questions for another address are not taken', async () => {
    // The second answers the first's attribute requests, whose numbers follow those it has seen.
    const spoofed = await beside((address) => ({ xid, subject }, send) => {
      if (subject === type) send(serviceReply({ xid }, [url(address)]));
      for (let i = 0; i < 64; i++) send(attributeReply({ xid: (xid + i) & 0xffff }, '(a=forged)'));
    });
    expect(spoofed).toHaveLength(1);
  });

  it('a flood of replies is folded to one', async () => {
    const found = await beside((address) => ({ fn, xid, subject }, send) => {
      if (subject === type) for (let i = 0; i < 500; i++) send(serviceReply({ xid }, [url(address), url(address)]));
      if (fn === 6) for (let i = 0; i < 500; i++) send(attributeReply({ xid }, '(a=1)'));
    });
    expect(found).toEqual([service('127.93.0.2')]);
  });

  it('one that tells of thousands of services and then nothing more is bounded and delays only itself', async () => {
    const urls = Array.from({ length: 3_000 }, (_, i) => url(`h${i}`));
    const found = await beside(
      (_address) =>
        ({ xid, subject }, send) => {
          if (subject === type) send(serviceReply({ xid }, urls.slice(0, 2_000)));
        },
      3_000,
    );
    expect(found).toHaveLength(512);
    expect(found.every(({ attributes }) => attributes.size === 0)).toBe(true);
  });

  it('many that tell of hundreds of services each are bounded together', async () => {
    const urls = Array.from({ length: 512 }, (_, i) => url(`h${i}`));
    const agents = Array.from({ length: 40 }, (_, i) =>
      agent(i + 1, ({ xid, subject }, send) => {
        if (subject === type) send(serviceReply({ xid }, urls));
      }),
    );
    expect(await findWith({ timeouts: [1] }, await Promise.all(agents))).toHaveLength(16_384);
  });

  it('reads the longest datagram there is', async () => {
    const urls = Array.from({ length: 500 }, (_, i) => url(`${'h'.repeat(100)}${i}`));
    const found = await beside(() => ({ fn, xid, subject }, send) => {
      if (subject === type) send(serviceReply({ xid }, urls));
      if (fn === 6) send(attributeReply({ xid }, `(a=${'x'.repeat(60_000)})`));
    });
    expect(found).toHaveLength(500);
    expect(found[0]?.attributes.get('a')?.[0]).toHaveLength(60_000);
  });
});

describe('replies that overflow', () => {
  const many = Array.from({ length: 300 }, (_, i) => url(`h${i}`));
  const overflowing: Answer = ({ fn, xid, subject }, send) => {
    if (subject === type) send(serviceReply({ xid, flags: overflow }, many.slice(0, 3)));
    if (fn === 6) send(message(7, { xid, flags: overflow, length: 9_000 }, Buffer.from([0, 0, 0x40, 0])));
  };

  it('are asked for again by TCP, services and attributes', async () => {
    await agent(1, overflowing);
    await listener(good, (connection, { fn, xid, subject }) => {
      const reply =
        fn === 6 ? attributeReply({ xid }, `(a=${subject}),(b=${'x'.repeat(20_000)})`) : serviceReply({ xid }, many);
      // In pieces, as the network may deliver it.
      connection.write(reply.subarray(0, 3));
      setTimeout(() => connection.write(reply.subarray(3, 10)), 5);
      setTimeout(() => connection.end(reply.subarray(10)), 10);
    });
    const found = await findWith({ tcpTimeout: 20_000 }, [good]);
    expect(found.map((each) => each.url)).toEqual(many);
    expect(found.every((each) => each.attributes.get('a')?.[0] === each.url)).toBe(true);
  });

  it.each<[string, (connection: Connection, request: Request) => void]>([
    ['refuses by an error', (connection, { xid }) => connection.end(serviceReply({ xid }, many, 5))],
    ['closes', (connection) => connection.end()],
    ['resets', (connection) => connection.resetAndDestroy()],
    ['says nothing', () => {}],
    ['announces 16 MB', (connection) => connection.write(Buffer.from([2, 2, 0xff, 0xff, 0xff, 0, 0]))],
    ['talks of something else', (connection) => connection.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
    [
      'never ends',
      (connection, { xid }) => {
        connection.write(serviceReply({ xid, length: 1_000_000 }, many));
        const timer = setInterval(() => connection.write('x'.repeat(100)), 5);
        connection.on('close', () => clearInterval(timer));
      },
    ],
  ])('count as far as they went if the agent %s by TCP', async (_name, serve) => {
    await agent(1, overflowing);
    await listener(good, serve);
    const found = await find([good]);
    expect(found.map((each) => each.url)).toEqual(many.slice(0, 3));
  });

  it('count as far as they went if there is no TCP', async () => {
    await agent(1, overflowing);
    expect((await find([good])).map((each) => each.url)).toEqual(many.slice(0, 3));
  });
});

describe('a directory agent', () => {
  it('is asked for the services it knows, where it spoke from and not where it points to', async () => {
    await agent(3, () => expect.unreachable('nobody may be sent here'));
    await agent(1, ({ fn, xid, subject, multicast }, send) => {
      if (subject === 'service:directory-agent') send(agentAdvert({ xid }, 'service:directory-agent://127.93.0.3'));
      else if (fn === 6) send(attributeReply({ xid }, '(a=1)'));
      else if (subject === type && !multicast) send(serviceReply({ xid }, [url('10.0.0.1'), url('10.0.0.2')]));
    });
    const told = (host: string) => service(good, [['a', ['1']]], { url: url(host), fromDirectory: true });
    expect(await find([good])).toEqual([told('10.0.0.1'), told('10.0.0.2')]);
  });

  it('that says it is ending, or that nobody asked, is left alone', async () => {
    let asked = 0;
    await agent(1, ({ xid, subject }, send) => {
      if (subject === type) asked++;
      else send(agentAdvert({ xid }, 'service:directory-agent://x', 1));
      send(agentAdvert({ xid: 0 }, 'service:directory-agent://x'));
    });
    expect(await find([good])).toEqual([]);
    // The rounds of everybody, and none more; the agent may read the last one late.
    await expect.poll(() => asked).toBe(3);
  });
});

describe('the time limit', () => {
  it('ends a search with what was found until then', async () => {
    await agent(1, honest(good));
    await agent(2, ({ xid, subject }, send) => {
      if (subject === type) send(serviceReply({ xid }, [url('h1'), url('h2'), url('h3')]));
    });
    const found = await find([good, '127.93.0.2'], 1_500);
    expect(found.map((each) => [each.url, each.attributes.size])).toEqual(
      expect.arrayContaining([
        [url(good), 1],
        [url('h1'), 0],
        [url('h3'), 0],
      ]),
    );
  });

  it('does not hide that the search was ended from outside', async () => {
    const abort = new AbortController();
    const search = find(['127.93.0.9'], 5_000, abort.signal);
    setTimeout(() => abort.abort(), 20);
    await expect(search).rejects.toThrow(Fault);
    await expect(find(['127.93.0.9'], 5_000, abort.signal)).rejects.toThrow(/was ended/);
  });
});

describe('sockets', () => {
  it('that cannot be opened are an error if there is none left', async () => {
    const outlet = { interface: 'none', family: 4, address: '192.0.2.254', broadcast: undefined } as const;
    const signal = new AbortController().signal;
    const question = { types: [type], milliseconds: 2_000, port, timing };
    await expect(findServices({ ...question, outlets: [outlet] }, signal)).rejects.toThrow(/EADDRNOTAVAIL/);
    await agent(1, honest(good));
    expect(await findServices({ ...question, outlets: [outlet], agents: [good] }, signal)).toEqual([service(good)]);
  });
});
