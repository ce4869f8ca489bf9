import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';

/** What a machine does with what is typed: what it returns is printed. */
export type Machine = (typed: string, index: number) => string | undefined;

/** The serial port of one machine, behind its BMC. */
export interface SerialPort {
  /** Everything that was typed, a byte a character; a break is the two bytes that telnet has for it. */
  readonly typed: string;
  print(text: string): void;
}

export const telnetBreak = '\xff\xf3';

class Port implements SerialPort {
  typed = '';
  readonly server: Server;
  #socket: Socket | undefined;

  constructor(machine: Machine, index: number) {
    this.server = createServer((socket) => {
      this.#socket = socket.on('error', () => undefined);
      socket.on('data', (bytes) => {
        const typed = bytes.toString('latin1');
        this.typed += typed;
        const printed = machine(typed, index);
        if (printed !== undefined) this.print(printed);
      });
    });
  }

  print(text: string): void {
    this.#socket?.write(text, 'latin1');
  }
}

/** Serial ports as ipmi_sim reaches them, one for each BMC. They have to be there before it is started. */
export async function openSerialPorts(addresses: readonly string[], port: number, machine: Machine) {
  const ports = addresses.map((_, index) => new Port(machine, index));
  await Promise.all(
    ports.map(async ({ server }, index) => {
      server.listen(port, addresses[index]);
      await once(server, 'listening');
    }),
  );
  return {
    port: (index: number): SerialPort => ports[index]!,
    close: () => ports.forEach(({ server }) => server.close()),
  };
}
