import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Connection } from './client.ts';
import { type Running, serverCore, start } from './process.ts';
import { newDirectory } from './server.ts';

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Where it may write what does not fit its memory. */
export const temporaryPaths = (directory: string): string =>
  ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${join(directory, kind)};`)
    .join(' ');

/** nginx as one process that serves the bytes as the file /body, with the certificate of the server it is compared with. */
export async function startNginx(bytes: Buffer, tls: string): Promise<Running & { readonly port: number }> {
  const directory = newDirectory();
  const port = await freePort();
  mkdirSync(join(directory, 'files'));
  writeFileSync(join(directory, 'files', 'body'), bytes);
  const configuration = `
    daemon off; master_process off; worker_processes 1; pid ${join(directory, 'pid')}; error_log stderr notice;
    events { worker_connections 64; }
    http {
      access_log off; sendfile on; keepalive_requests 1000000; default_type application/json; ${temporaryPaths(directory)}
      server {
        listen 127.0.0.1:${port} ssl; root ${join(directory, 'files')};
        ssl_certificate ${join(tls, 'server.pem')}; ssl_certificate_key ${join(tls, 'server.key')};
        ssl_protocols TLSv1.2 TLSv1.3;
      }
    }`;
  const file = join(directory, 'nginx.conf');
  writeFileSync(file, configuration);
  const command = ['nginx', '-p', directory, '-e', 'stderr', '-c', file];
  const running = await start(command, { core: serverCore, ready: /nginx\/\d/ });
  await reachable(port);
  return { ...running, port };
}

async function reachable(port: number): Promise<void> {
  for (let left = 100; ; left--) {
    try {
      const connection = await Connection.open(port);
      connection.close();
      return;
    } catch (error) {
      if (left === 0) throw error;
      await wait(20);
    }
  }
}
