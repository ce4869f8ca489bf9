import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { exitOf, runMuster, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { freePort, type Nats, startNats } from '../lab/nats.ts';
import type { Namespace } from '../lab/netns.ts';

const checkout = join(import.meta.dirname, '../..');

/** A worker process. */
export interface TestWorker {
  readonly name: string;
  readonly child: ChildProcess;
  readonly data: string;
  output(): string;
  /** Asks it to stop, and waits for it. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** A server, a NATS server and any number of workers. */
export interface BusCluster {
  readonly nats: Nats;
  readonly server: TestServer;
  /** Another server on the same database, which the environment names. */
  another(): Promise<TestServer>;
  /** Waits until the server gives it work, unless told otherwise. */
  worker(name: string, options?: WorkerOptions): Promise<TestWorker>;
  /** Resolves when the list of servers shows the worker so. */
  listed(name: string, matches: (entry: Listed) => boolean): Promise<Listed>;
  remove(): Promise<void>;
}

/** An entry of GET /servers. */
export interface Listed {
  readonly name: string;
  readonly role: string;
  readonly state: string;
  readonly problem?: string;
  readonly nodes: number;
  readonly assigned: number;
  readonly version: string;
  readonly serves?: readonly string[];
  readonly boots?: number;
}

interface WorkerOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether it is waited for; absent: it is. */
  readonly waits?: boolean;
  readonly main?: string;
}

interface LaunchOptions extends Pick<WorkerOptions, 'environment' | 'main'> {
  readonly namespace?: Namespace;
}

const host = '127.0.0.1';

export async function startBusCluster(
  workers: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<BusCluster> {
  const data = temporaryDirectory();
  const port = await freePort(host);
  const nats = await startNats(await makeBusFiles(data, `${host}:${port}`, workers), host, port);
  const bus = { MUSTER_BUS_SERVERS: nats.url };
  const server = await startServer({ data, environment: { ...bus, ...environment } });
  const started: TestWorker[] = [];
  const others: TestServer[] = [];
  const listed: BusCluster['listed'] = async (name, matches) => {
    for (;;) {
      const entry = ((await server.ok('GET', '/servers')) as { servers: Listed[] }).servers.find(
        (each) => each.name === name,
      );
      if (entry && matches(entry)) return entry;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  return {
    nats,
    server,
    listed,
    async another() {
      const other = await startServer({ data: joinedData(data), environment: { ...bus, ...environment } });
      others.push(other);
      return other;
    },
    async worker(name, { environment: more = {}, waits = true, main } = {}) {
      const worker = launchWorker(name, data, {
        environment: { ...bus, ...environment, ...more },
        ...(main !== undefined && { main }),
      });
      started.push(worker);
      await isReady(worker);
      if (waits) await listed(name, ({ state, problem }) => state === 'connected' && problem === undefined);
      return worker;
    },
    async remove() {
      await Promise.all(started.map((worker) => worker.kill()));
      // Somebody who tries the lab has killed one.
      const wasKilled = ({ child }: TestServer): boolean => child.signalCode === 'SIGKILL';
      await Promise.all([server, ...others].map((each) => (wasKilled(each) ? each.kill() : each.stop())));
      for (const other of others) rmSync(other.data, { recursive: true });
      await nats.remove();
      rmSync(data, { recursive: true });
    },
  };
}

/** Makes the keys of the bus in a data directory; answers the configuration of NATS. */
export async function makeBusFiles(data: string, server: string, workers: readonly string[]): Promise<string> {
  const words = ['--data', data, 'bus-config', '--server', server, ...workers.flatMap((name) => ['--worker', name])];
  const { code, output } = await runMuster(words);
  if (code !== 0) throw new Error(output);
  return output;
}

/** A directory for another server on the same database, with what servers share. */
export function joinedData(data: string): string {
  const own = temporaryDirectory();
  for (const file of ['secret.key', 'tls/ca.pem', 'tls/ca.key', 'bus/ca.pem', 'bus/server.seed']) {
    mkdirSync(dirname(join(own, file)), { recursive: true });
    cpSync(join(data, file), join(own, file));
  }
  return own;
}

/** Has its own directory with copies of what a service node gets. */
export function launchWorker(name: string, from: string, options: LaunchOptions): TestWorker {
  const { environment = {}, main = join(checkout, 'dist/main.js'), namespace } = options;
  const data = temporaryDirectory();
  mkdirSync(join(data, 'bus/workers'), { recursive: true });
  for (const file of ['bus/ca.pem', `bus/workers/${name}.seed`]) cpSync(join(from, file), join(data, file));
  const words = [process.execPath, main, 'worker', '--name', name] as const;
  const [file, ...args] = namespace?.command(...words) ?? words;
  const child = spawn(file, args, {
    cwd: checkout,
    env: {
      PATH: process.env.PATH,
      MUSTER_DATA: data,
      MUSTER_HARDWARE_NETWORKS: '127.0.0.0/8',
      MUSTER_REMOTE_NETWORKS: '127.0.0.0/8',
      MUSTER_IPMI_TIMEOUT: '15',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal);
      await exitOf(child);
    }
    rmSync(data, { recursive: true, force: true });
  };
  return { name, child, data, output: () => text, stop: () => end('SIGTERM'), kill: () => end('SIGKILL') };
}

export async function isReady({ name, child, output }: TestWorker): Promise<void> {
  while (!output().includes(`muster worker ${name} ready`)) {
    if (child.exitCode !== null) throw new Error(`The worker ended with ${child.exitCode}:\n${output()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
