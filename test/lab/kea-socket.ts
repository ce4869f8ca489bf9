import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface KeaCommand {
  readonly command: string;
  // oxlint-disable-next-line no-explicit-any -- tests look into arguments of every shape
  readonly arguments?: any;
}

/** Something that answers on a control socket in place of Kea, for versions and faults that the real one here does not have. */
export interface KeaSocket {
  readonly path: string;
  readonly heard: KeaCommand[];
  close(): Promise<void>;
}

/** Answers with the text, or does what it likes with the connection. */
export type Answerer = (command: KeaCommand, connection: Socket) => object | string | undefined;

export async function listenAsKea(answer: Answerer, path?: string): Promise<KeaSocket> {
  const directory = mkdtempSync(join(tmpdir(), 'muster-kea-'));
  const place = path ?? join(directory, 'kea.sock');
  const heard: KeaCommand[] = [];
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (connection) => {
    open.add(connection);
    connection.on('close', () => open.delete(connection));
    connection.on('error', () => {});
    let text = '';
    connection.on('data', (chunk) => {
      text += chunk.toString();
      if (!text.endsWith('}')) return;
      let command: KeaCommand;
      try {
        command = JSON.parse(text) as KeaCommand;
      } catch {
        return;
      }
      heard.push(command);
      const reply = answer(command, connection);
      if (reply !== undefined) connection.end(typeof reply === 'string' ? reply : JSON.stringify(reply));
    });
  });
  await new Promise<void>((resolve) => server.listen(place, resolve));
  return {
    path: place,
    heard,
    async close() {
      for (const connection of open) connection.destroy();
      await new Promise((resolve) => server.close(resolve));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
