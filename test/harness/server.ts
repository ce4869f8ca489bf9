import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDoor } from '../lab/netboot/door.ts';
import type { Namespace } from '../lab/netns.ts';
import { Client, type CallOptions, type Reply } from './client.ts';

const checkout = join(import.meta.dirname, '../..');
const main = join(checkout, 'dist/main.js');

export const rootPassword = 'cluster';

export interface ServerOptions {
  /** An existing data directory; it stays when the server stops. */
  readonly data?: string;
  /** The text of a configuration file. */
  readonly config?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** The certificate clients trust; the server's own authority if absent. */
  readonly ca?: string;
  /** The program, where it is not muster as it is. */
  readonly main?: string;
  /** A network of its own to run in. */
  readonly namespace?: Namespace;
  /** Where to listen; on a free port if absent. */
  readonly listen?: readonly string[];
}

/** A muster process on a port of its own, and a client that root's token is ready for. */
export interface TestServer {
  readonly data: string;
  readonly port: number;
  readonly client: Client;
  /** Root's token, which `call` sends unless told otherwise. */
  readonly token: string;
  readonly child: ChildProcess;
  /** What the process has written so far, both streams. */
  output(): string;
  /** One request at `/muster` (or `root`) with root's token (or `token`; null sends none). */
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  /** The same, for requests that must succeed; answers the JSON of the body. */
  // oxlint-disable-next-line no-explicit-any -- tests look into replies of every shape
  ok(method: string, path: string, body?: unknown, options?: CallOptions): Promise<any>;
  stop(): Promise<void>;
}

export const temporaryDirectory = (): string => mkdtempSync(join(tmpdir(), 'muster-test-'));

/** Runs muster with the arguments until it ends. */
export async function runMuster(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const { child, output } = launch(args, environment);
  const code = await exitOf(child);
  return { code, output: output() };
}

export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const data = options.data ?? temporaryDirectory();
  const args = ['--data', data, ...(options.listen ?? ['127.0.0.1:0']).flatMap((address) => ['--listen', address])];
  const configFile = join(data, 'test-config.toml');
  if (options.config !== undefined) {
    writeFileSync(configFile, options.config);
    args.push('--config', configFile);
  }
  const own = { MUSTER_ROOT_PASSWORD: rootPassword, MUSTER_HOSTS_FILE: join(data, 'hosts') };
  const { child, output } = launch(args, { ...own, ...options.environment }, options.main, options.namespace);
  const inside = await readyPort(child, output);
  const door = options.namespace && (await openDoor(options.namespace, inside, data));
  const port = door?.port ?? inside;
  const client = new Client(port, options.ca ?? readFileSync(join(data, 'tls/ca.pem'), 'utf8'));
  const login = await client.call('POST', '/tokens', { body: { userName: 'root', userPW: rootPassword } });
  const token: string = login.status === 201 ? login.json.token.id : '';
  const call = (method: string, path: string, given: CallOptions = {}) =>
    client.call(method, path, given.token === undefined ? { ...given, token } : given);
  return {
    data,
    port,
    client,
    token,
    child,
    output,
    call,
    async ok(method, path, body, given = {}) {
      const reply = await call(method, path, body === undefined ? given : { ...given, body });
      if (reply.status >= 300) throw new Error(`${method} ${path} answered ${reply.status}: ${reply.text}`);
      return reply.text.trim() === '' ? undefined : reply.json;
    },
    async stop() {
      client.close();
      child.kill('SIGTERM');
      const code = await exitOf(child);
      await door?.close();
      if (options.data === undefined) rmSync(data, { recursive: true, force: true });
      if (code !== 0) throw new Error(`muster ended with ${code}:\n${output()}`);
    },
  };
}

function launch(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  program = main,
  namespace?: Namespace,
) {
  const words = [program, ...args];
  const [file, ...rest] = namespace ? namespace.command(process.execPath, ...words) : [process.execPath, ...words];
  const child = spawn(file, rest, {
    cwd: checkout,
    // Whatever a test defines, nothing leaves this machine.
    env: {
      PATH: process.env.PATH,
      MUSTER_HARDWARE_NETWORKS: '127.0.0.0/8,::1/128',
      MUSTER_REMOTE_NETWORKS: '127.0.0.0/8,::1/128',
      MUSTER_DISCOVERY_INTERFACES: 'lo',
      MUSTER_DISCOVERY_SECONDS: '1',
      MUSTER_NAME_LOOKUP: 'false',
      MUSTER_DNS_DAEMON: 'none',
      MUSTER_DHCP_DAEMON: 'none',
      // Tests say themselves what is in the database.
      MUSTER_NEW_DATABASE: 'bare',
      // Simulated BMCs share the processors with all that is tested; those that are silent on purpose are given less time.
      MUSTER_IPMI_TIMEOUT: '15',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return { child, output: () => text };
}

export function exitOf(child: ChildProcess): Promise<number | string> {
  if (child.exitCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown')));
}

function readyPort(child: ChildProcess, output: () => string): Promise<number> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const ready = /^muster ready https:\/\/\S+:(\d+)\/muster( |$)/m.exec(output());
      if (ready) resolve(Number(ready[1]));
    };
    child.stdout?.on('data', look);
    child.once('close', (code) => reject(new Error(`muster ended with ${code} before it was ready:\n${output()}`)));
  });
}
