import { createSocket, type Socket } from 'node:dgram';
import { createServer, type Server } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { addressOf, bmcOf, type Letter, nodeNames, type Ports } from './world.ts';

/** Stands for the machines of all nodes: notes who is spoken to and hangs up. */
export interface Listeners {
  readonly ports: Ports;
  /** The addresses that were spoken to since the last call. */
  heard(): string[];
  close(): Promise<void>;
}

const ipmiPort = 623;
const letters: readonly Letter[] = ['a', 'b'];
const addresses = (of: (letter: Letter, node: string) => string): string[] =>
  letters
    .flatMap((letter) => nodeNames.map((node) => of(letter, node)))
    .filter((address) => address.startsWith('127.'));

export async function listenForNodes(): Promise<Listeners> {
  let heard: string[] = [];
  const note = (address: string): void => void heard.push(address);
  const [first, ...others] = addresses(bmcOf);
  const ipmi = [await whenFree(first!, note)];
  ipmi.push(...(await Promise.all(others.map((address) => onUdp(address, note)))));
  const redfish = await onOnePort(addresses(bmcOf), note);
  // Who hangs up without a greeting is told of in one way or another, as it happens.
  const ssh = await onOnePort(addresses(addressOf), note, 'SSH-2.0-none\r\n');
  return {
    ports: { redfish: redfish.port, ssh: ssh.port },
    heard() {
      const all = heard;
      heard = [];
      return all;
    },
    async close() {
      for (const socket of ipmi) socket.close();
      await Promise.all(
        [...redfish.servers, ...ssh.servers].map((server) => new Promise((done) => server.close(done))),
      );
    },
  };
}

/** Another run of this test on the same machine has all addresses until it ends. */
async function whenFree(address: string, note: (address: string) => void): Promise<Socket> {
  for (;;) {
    try {
      return await onUdp(address, note);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      await pause(200);
    }
  }
}

function onUdp(address: string, note: (address: string) => void): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4');
    socket.on('message', () => note(address));
    socket.once('error', reject);
    socket.bind(ipmiPort, address, () => resolve(socket));
  });
}

/** The same free port at all addresses, whichever that is. */
async function onOnePort(
  all: readonly string[],
  note: (address: string) => void,
  greeting = '',
): Promise<{ port: number; servers: Server[] }> {
  const [first, ...others] = all;
  const one = await onTcp(first!, 0, note, greeting);
  const { port } = one.address() as { port: number };
  return {
    port,
    servers: [one, ...(await Promise.all(others.map((address) => onTcp(address, port, note, greeting))))],
  };
}

function onTcp(address: string, port: number, note: (address: string) => void, greeting: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      note(address);
      socket.on('error', () => undefined);
      // What the other side has sent is read first: an end is told alike every time, a connection that breaks is not.
      socket.resume();
      socket.end(greeting);
    });
    server.once('error', reject);
    server.listen(port, address, () => resolve(server));
  });
}
