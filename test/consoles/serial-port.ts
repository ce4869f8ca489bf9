import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Fault, NothingListens } from '../../src/core/errors.ts';
import type { Driver } from '../../src/drivers/driver.ts';
import type { Console } from '../../src/drivers/console.ts';

/** What the port sends on its line when it gets this byte: there are no breaks in TCP. */
const breakByte = 0;

/** A machine behind a terminal server: it echoes what is typed, one client at a time. */
export interface SerialPort {
  readonly port: number;
  /** What was typed so far. */
  readonly typed: string;
  readonly breaks: number;
  /** How often it was opened. */
  readonly opened: number;
  readonly isOpen: boolean;
  print(text: string | Buffer): void;
  /** Takes nothing more of what is typed. */
  deafen(): void;
  /** As when its BMC restarts. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export async function startSerialPort(): Promise<SerialPort> {
  let server: Server | undefined;
  let line: Socket | undefined;
  const sockets = new Set<Socket>();
  const state = { port: 0, typed: '', breaks: 0, opened: 0, isDeaf: false };
  const take = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => {
      sockets.delete(socket);
      if (line === socket) line = undefined;
    });
    socket.once('data', (first: Buffer) => {
      if (line && first.toString() !== 'take') return void socket.end('busy');
      line?.destroy();
      line = socket;
      state.opened++;
      socket.write('ok');
      if (state.isDeaf) return void socket.pause();
      socket.on('data', (bytes: Buffer) => {
        state.breaks += bytes.filter((byte) => byte === breakByte).length;
        const text = bytes.toString().replaceAll('\0', '');
        state.typed += text;
        socket.write(text);
      });
    });
  };
  const start = async (): Promise<void> => {
    server = createServer(take).listen(state.port, '127.0.0.1');
    await once(server, 'listening');
    state.port = (server.address() as AddressInfo).port;
  };
  await start();
  return {
    get port() {
      return state.port;
    },
    get typed() {
      return state.typed;
    },
    get breaks() {
      return state.breaks;
    },
    get opened() {
      return state.opened;
    },
    get isOpen() {
      return line !== undefined;
    },
    print: (text) => void line!.write(text),
    deafen() {
      state.isDeaf = true;
      line?.removeAllListeners('data').pause();
    },
    async stop() {
      const closed = once(server!, 'close');
      server!.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    start,
  };
}

const portConsole = (port: number): Console => ({
  async open({ takeOver, output, closed }, signal) {
    const socket = connect(port, '127.0.0.1').setNoDelay();
    socket.on('error', () => {});
    await once(socket, 'connect', { signal }).catch(() => {
      throw new NothingListens(`nothing listens on port ${port}.`);
    });
    socket.write(takeOver ? 'take' : 'open');
    const [answer] = (await once(socket, 'data', { signal })) as [Buffer];
    if (answer.toString() === 'busy') {
      socket.destroy();
      throw new Fault('conflict', 'somebody else has the serial port. Take it over with -f.');
    }
    let isOurs = false;
    if (answer.length > 2) output(answer.subarray(2));
    socket.on('data', (bytes: Buffer) => output(bytes));
    socket.once('close', () => closed(isOurs ? undefined : new NothingListens('the connection was lost.')));
    const write = (bytes: Uint8Array): Promise<void> =>
      new Promise((resolve, reject) => socket.write(bytes, (error) => (error ? reject(error) : resolve())));
    return {
      way: `port ${port}`,
      write,
      sendBreak: () => write(Buffer.from([breakByte])),
      async close() {
        isOurs = true;
        if (socket.closed) return;
        socket.destroy();
        await once(socket, 'close');
      },
    };
  },
});

/** Nodes whose serial port is the TCP port that `serialport` says. */
export const portDriver = (): Driver<number> => ({
  name: 'wire',
  offers: ['console'],
  attributes: ['serialport'],
  target({ name, attributes: { serialport } }) {
    if (serialport === undefined) throw new Fault('invalid', `its attribute serialport is not set (${name}).`);
    return { device: `wire ${serialport}`, address: '127.0.0.1', width: 1, access: Number(serialport) };
  },
  connect: (port) => ({ console: portConsole(port) }),
  close: async () => {},
});
