import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDoor } from '../lab/netboot/door.ts';
import type { Namespace } from '../lab/netns.ts';
import { Client, type CallOptions, type Reply } from './client.ts';
import { keepOutput } from './kept-output.ts';
import { databaseOf } from './postgresql.ts';

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
  /** The name of the machine as the process sees it, where several servers pretend to be on machines of their own. */
  readonly hostname?: string;
  /** Files and directories of this machine in whose place the process sees others. */
  readonly files?: Readonly<Record<string, string>>;
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
  /** Ends it at once, as a crash does; its data stay. */
  kill(): Promise<void>;
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
  const database = await databaseOf(data);
  const given = { ...own, ...(database !== undefined && { MUSTER_DATABASE: database }), ...options.environment };
  const { child, output } = launch(args, given, options);
  const inside = await readyPort(child, output);
  const door = options.namespace && (await openDoor(options.namespace, inside, data));
  const port = door?.port ?? inside;
  const client = new Client(port, options.ca ?? readFileSync(join(data, 'tls/ca.pem'), 'utf8'));
  const login = await client.call('POST', '/tokens', { body: { userName: 'root', userPW: rootPassword } });
  const token: string = login.status === 201 ? login.json.token.id : '';
  const call = (method: string, path: string, how: CallOptions = {}) =>
    client.call(method, path, how.token === undefined ? { ...how, token } : how);
  return {
    data,
    port,
    client,
    token,
    child,
    output,
    call,
    async ok(method, path, body, how = {}) {
      const reply = await call(method, path, body === undefined ? how : { ...how, body });
      if (reply.status >= 300) throw new Error(`${method} ${path} answered ${reply.status}: ${reply.text}`);
      return reply.text.trim() === '' ? undefined : reply.json;
    },
    async kill() {
      client.close();
      child.kill('SIGKILL');
      await exitOf(child);
      await door?.close();
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
  { main: program = main, namespace, hostname, files }: ServerOptions = {},
) {
  const named = hostname === undefined ? [] : ['unshare', '--uts', 'sh', '-c', 'hostname "$0" && exec "$@"', hostname];
  const mounts = Object.entries(files ?? {}).flatMap(([place, file]) => [file, place]);
  const mounting = 'n=$0; while [ "$n" -gt 0 ]; do mount --bind "$1" "$2"; shift 2; n=$((n - 1)); done; exec "$@"';
  const seeing =
    files === undefined ? [] : ['unshare', '--mount', 'sh', '-ec', mounting, String(mounts.length / 2), ...mounts];
  const [first, ...words] = [...seeing, ...named, process.execPath, program, ...args];
  const [file, ...rest] = namespace ? namespace.command(first!, ...words) : [first!, ...words];
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
  keepOutput(() => text);
  return { child, output: () => text };
}

export function exitOf(child: ChildProcess): Promise<number | string> {
  const ended = child.exitCode ?? child.signalCode;
  // What it wrote last may still be in its pipes.
  const isRead = child.stdio.every((stream) => !stream || stream.destroyed);
  if (ended !== null && isRead) return Promise.resolve(ended);
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
