import { once } from 'node:events';
import { chmodSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { said } from '../harness/output.ts';
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
  /** Another than that of the lab. */
  readonly port?: number;
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
  const install = temporaryDirectory();
  // nginx has a user of its own.
  chmodSync(install, 0o755);
  await server.ok('PUT', '/globalconf/attrs/installdir', { installdir: install });
  return bootLabOn(server, install);
}

/** The same with a muster that runs already. */
export async function bootLabOn(server: TestServer, install: string): Promise<BootLab> {
  const [, port] = await said(server, /boot files are served at http:\/\/127\.0\.0\.1:(\d+)\//);
  return {
    server,
    port: Number(port),
    install,
    from: (address, path, options = {}) => ask(options.port ?? Number(port), address, path, options),
    async stop() {
      await server.stop();
      for (const directory of [install, server.data]) rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Where a server or a worker gives files by TFTP. */
export async function tftpPortOf(process: Parameters<typeof said>[0]): Promise<number> {
  const [, port] = await said(process, /served by TFTP at 127\.0\.0\.1:(\d+)/);
  return Number(port);
}

/** Settings with which nginx stands before muster. */
export async function behindNginx(): Promise<Record<string, string>> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return { MUSTER_BOOT_FILES: 'nginx', MUSTER_BOOT_LISTEN: `127.0.0.1:${port}` };
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
