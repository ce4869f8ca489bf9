/** The hostile side: does what it is told to a server, from a process of its own. Whatever it gets for that is fine. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { request as plainRequest } from 'node:http';
import { Agent, request } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { setTimeout as wait } from 'node:timers/promises';
import { drip, flood, jsonAnswer, type RawTls, rawTls } from '../test/lab/raw-tls.ts';
import { definitions } from './cluster.ts';
import { type ActMessage, hostileAddress, hostileNode, loader, type Victim } from './stalls-victim.ts';

const root = '/muster';
let victim: Victim;
const megabyte = 1024 * 1024;
const largest = 32 * megabyte;
const longAct = 5_000;

type Account = keyof Victim['tokens'] | undefined;

interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly account?: Account;
  readonly body?: Buffer;
  readonly agent?: Agent;
}

/** The status of the reply, or nothing if there was none. */
async function send({ method = 'GET', path, account, body, agent }: Sent): Promise<number | undefined> {
  const headers = {
    ...(account ? { 'X-Auth-Token': victim.tokens[account] } : {}),
    ...(body ? { 'Content-Type': 'application/json', 'Content-Length': body.length } : {}),
  };
  const options = { host: '127.0.0.1', port: victim.port, rejectUnauthorized: false, agent, headers, method, path };
  const sent = request(options);
  // A server that has heard enough answers, or leaves, before all is sent.
  const reply = new Promise<number | undefined>((resolve) => {
    sent.on('error', () => resolve(undefined));
    sent.on('response', (response) => {
      response.resume();
      response.on('error', () => resolve(undefined));
      response.on('end', () => resolve(response.statusCode));
    });
  });
  sent.end(body);
  return reply;
}

const times = <T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));

/** JSON of the size of the largest body there is, full of objects. */
const bulkText = (): Buffer => Buffer.from(`{"n1":{"groups":"all"},"x":[${'{},'.repeat(largest / 3 - 20)}{}]}`);

/** The definitions of 10,000 nodes, blown up to that size, with a comment that is new each time. */
function bulkNodes(letter: string): Buffer {
  const nodes = definitions(1, 10_000);
  const padding = letter.repeat(largest / 10_000 - 600);
  for (const node of Object.values(nodes)) node['usercomment'] = padding;
  return Buffer.from(JSON.stringify(nodes));
}

/** A connection, which the server may close at any time. */
function connection(): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: victim.port, rejectUnauthorized: false }).on('error', () => {});
  return new Promise((resolve) => {
    socket.once('secureConnect', () => resolve(socket));
    socket.once('close', () => resolve(socket));
  });
}

/** All of a body but its last mebibyte. */
async function unfinishedBody(): Promise<void> {
  const socket = await connection();
  const head = `PUT ${root}/nodes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
  socket.write(`${head}Content-Length: ${largest}\r\n\r\n{"a":"`);
  const piece = Buffer.alloc(megabyte, 'x');
  let left = largest / megabyte - 1;
  const more = (): void => {
    while (left > 0 && !socket.destroyed) {
      left--;
      if (!socket.write(piece)) return;
    }
  };
  socket.on('drain', more);
  more();
  await wait(2 * longAct);
  socket.destroy();
}

async function forAWhile(work: () => Promise<unknown>): Promise<void> {
  for (const end = performance.now() + longAct; performance.now() < end; ) await work();
}

const ask = (account: Account, range: string) => () =>
  send({ path: `${root}/nodes/${encodeURIComponent(range)}`, account });

/** One that compiles to 118,800 steps, and one for which every name needs new tables. */
const largePattern = '\\pL{990}'.repeat(120);
const restlessPattern = ['[13579].{6}', '[02468].{5}', '[01234].{4}', '[0156].{4}', '[569].{5}', '[qz]?'.repeat(150)]
  .map((end) => `.*${end}[yz]`)
  .join('|');
const tenPatterns = Array.from({ length: 10 }, (_, i) => `/${largePattern.slice(0, 900)}${i}`).join(',');
const millionNames = 'a[1-1000]b[1-999]';

/** Power of a node whose Redfish service answers like this. */
async function hostileService(answer: (socket: TLSSocket, path: string) => void): Promise<void> {
  const start = { Links: {}, Systems: { '@odata.id': '/s' } };
  const service: RawTls = await rawTls(hostileAddress, (socket, { path }) =>
    path === '/redfish/v1/' ? socket.write(jsonAnswer(start)) : answer(socket, path),
  );
  const body = Buffer.from(JSON.stringify({ bmcport: String(service.port) }));
  await send({ method: 'PUT', path: `${root}/nodes/${hostileNode}`, account: 'root', body });
  const asked = send({ path: `${root}/nodes/${hostileNode}/power`, account: 'root' });
  // One that drips is cut off after half a minute; the first seconds show all there is to see.
  await Promise.race([asked, wait(2 * longAct)]);
  await service.stop();
  await asked;
}

/** Sockets at addresses of their own. */
async function udpSockets(count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => createSocket('udp4'));
  for (const [i, socket] of sockets.entries()) {
    socket.bind(0, `127.88.${Math.floor(i / 250)}.${1 + (i % 250)}`);
    await once(socket, 'listening');
  }
  return sockets;
}

/** Requests of each socket for a loader, the largest timeout with them. */
function askByTftp(sockets: readonly Socket[], each: number): void {
  for (let i = 0; i < each; i++) {
    const datagram = Buffer.from(`\0\u0001${loader}\0octet\0timeout\x00255\0n\0${i}\0`, 'latin1');
    for (const socket of sockets) socket.send(datagram, victim.boot.tftp, '127.0.0.1');
  }
}

/** A request to the boot listener from an address; what comes of it does not matter. */
function askToBoot(localAddress: string, path: string, body?: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const method = body ? 'POST' : 'GET';
    const options = { host: '127.0.0.1', port: victim.boot.http, localAddress, path, method, agent: false };
    const asked = plainRequest(options, (response) => response.on('end', resolve).on('error', resolve).resume());
    asked.on('error', () => resolve());
    asked.end(body);
  });
}

const emptyObjects = (bytes: number): string => `{"Members":[${'{},'.repeat(bytes / 3)}{}]}`;
const early = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n';

const acts: Readonly<Record<string, () => Promise<unknown>>> = {
  anonymousBodies() {
    const body = bulkText();
    return times(4, () => send({ method: 'PUT', path: `${root}/nodes`, body }));
  },
  unfinishedBodies: () => times(40, unfinishedBody),
  wrongPasswords() {
    const body = bulkText();
    return times(4, (i) => send({ method: 'PUT', path: `${root}/nodes?userName=root&userPW=wrong${i}`, body }));
  },
  refusals() {
    const agent = new Agent({ keepAlive: true, maxSockets: 50 });
    return times(50, () => forAWhile(() => send({ path: `${root}/nodes`, agent })));
  },
  patternOfNobody: ask('nobody', `nodelist.node=~${largePattern}`),
  patternsOfNobody: ask('nobody', tenPatterns),
  pattern: ask('root', `nodelist.node=~${largePattern}`),
  patterns: ask('root', tenPatterns),
  restlessPattern: ask('root', `/${restlessPattern}`),
  rangeOfNobody: ask('nobody', millionNames),
  range: ask('root', millionNames),
  rangeToChange: () =>
    send({
      method: 'PUT',
      path: `${root}/nodes/${encodeURIComponent(millionNames)}`,
      account: 'root',
      body: Buffer.from('{"rack":"r1"}'),
    }),
  bulkPut: () => send({ method: 'PUT', path: `${root}/nodes`, account: 'root', body: bulkNodes('x') }),
  limitedPut: () => send({ method: 'PUT', path: `${root}/nodes`, account: 'limited', body: bulkNodes('y') }),
  redfishObjects: () => hostileService((socket) => socket.write(jsonAnswer(emptyObjects(8_000_000)))),
  redfishResource: () =>
    hostileService((socket, path) => {
      const members = { Members: [{ '@odata.id': '/s/1' }] };
      socket.write(jsonAnswer(path === '/s' ? members : emptyObjects(1_000_000)));
    }),
  redfishEarly: () => hostileService((socket) => flood(socket, early)),
  redfishStatus: () =>
    hostileService((socket) => {
      socket.write('HTTP/1.1 200 ');
      flood(socket, 'x'.repeat(16_384));
    }),
  redfishDrip: () =>
    hostileService((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n{');
      drip(socket, ' ', 1);
    }),
  async idleConnections() {
    const sockets = await times(400, connection);
    await wait(longAct);
    for (const socket of sockets) socket.destroy();
  },
  async tftpUnanswered() {
    const sockets = await udpSockets(512);
    await forAWhile(async () => {
      askByTftp(sockets, 9);
      await wait(10);
    });
    for (const socket of sockets) socket.close();
  },
  async tftpAnswered() {
    const sockets = await udpSockets(128);
    for (const socket of sockets)
      socket.on('message', (_, { port }) => socket.send(Buffer.from([0, 4, 0, 0]), port, '127.0.0.1'));
    askByTftp(sockets, 32);
    await wait(longAct);
    for (const socket of sockets) socket.close();
  },
  bootScripts: () =>
    times(250, (i) => forAWhile(() => askToBoot(`127.88.0.${1 + i}`, `/boot/52-54-00-00-00-${16 + (i % 80)}.ipxe`))),
  bootReports() {
    const body = Buffer.alloc(65_000, 'initramfs x\n');
    return times(50, (i) => forAWhile(() => askToBoot(`127.88.0.${1 + i}`, '/boot/report/n1/none', body)));
  },
};

process.on('message', (message: ActMessage) => {
  if ('victim' in message) {
    ({ victim } = message);
    process.send!('ready');
  } else void acts[message.act]!().then(() => process.send!('done'));
});
