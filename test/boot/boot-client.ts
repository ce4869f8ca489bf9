import { rmSync } from 'node:fs';
import { request } from 'node:http';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';

export interface BootReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  readonly text: string;
}

export interface BootRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A muster that serves machines that boot. Every address of 127.0.0.0/8 can be that of one. */
export interface BootLab {
  readonly server: TestServer;
  readonly port: number;
  /** The site's installdir. */
  readonly install: string;
  /** A request from an address. */
  from(address: string, path: string, options?: BootRequest): Promise<BootReply>;
  stop(): Promise<void>;
}

export async function startBootLab(environment: Readonly<Record<string, string>> = {}): Promise<BootLab> {
  const server = await startServer({ environment: { MUSTER_BOOT_LISTEN: '127.0.0.1:0', ...environment } });
  const port = Number(/boot files are served at http:\/\/127\.0\.0\.1:(\d+)\//.exec(server.output())?.[1]);
  const install = temporaryDirectory();
  await server.ok('PUT', '/globalconf/attrs/installdir', { installdir: install });
  return {
    server,
    port,
    install,
    from: (address, path, options = {}) => ask(port, address, path, options),
    async stop() {
      await server.stop();
      rmSync(install, { recursive: true });
    },
  };
}

function ask(port: number, localAddress: string, path: string, options: BootRequest): Promise<BootReply> {
  const { method = 'GET', headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port, localAddress, path, method, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const all = Buffer.concat(chunks);
          resolve({ status: response.statusCode!, headers: response.headers, body: all, text: all.toString() });
        });
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}
