import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type LabChild, startChild } from '../child.ts';
import type { Namespace } from '../netns.ts';

/** A port of this machine that leads to one of an address inside a namespace. */
export interface Door {
  readonly port: number;
  close(): Promise<void>;
}

export async function openDoor(
  namespace: Namespace,
  port: number,
  directory: string,
  host = '127.0.0.1',
): Promise<Door> {
  const path = join(directory, `door-${port}`);
  const [program, ...args] = namespace.command(
    process.execPath,
    join(import.meta.dirname, 'door-server.ts'),
    path,
    host,
    String(port),
  );
  const child: LabChild = startChild(program, args, { directory, logFile: `${path}.log` });
  while (!child.log().includes('ready')) await pause(20);
  const open = new Set<Socket>();
  const server = createServer((outside) => {
    const inside = connect(path);
    open.add(outside);
    outside.once('close', () => open.delete(outside));
    outside.pipe(inside).pipe(outside);
    outside.on('error', () => inside.destroy());
    inside.on('error', () => outside.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await child.stop();
    },
  };
}
