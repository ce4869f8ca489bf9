import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from './client.ts';
import { putCluster } from './cluster.ts';
import { type Running, serverCore, start } from './process.ts';

export const root = '/muster';
export const password = 'bench-password';

/** Where everything of one run lies; gone when the run ends. */
const workDirectory = mkdtempSync(join(tmpdir(), 'muster-bench-'));
process.on('exit', () => rmSync(workDirectory, { recursive: true, force: true }));

let directories = 0;

export function newDirectory(): string {
  const directory = join(workDirectory, String(++directories));
  mkdirSync(directory);
  return directory;
}

export interface Muster extends Running {
  readonly port: number;
  readonly data: string;
  readonly token: string;
  connect(): Promise<Connection>;
}

export interface MusterOptions {
  readonly data?: string;
  /** What is run, if not muster as it is. */
  readonly program?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Options of the Node process. */
  readonly node?: readonly string[];
  /** Lets it use every core instead of the servers' own. */
  readonly allCores?: boolean;
}

export const main = join(import.meta.dirname, '..', 'dist', 'main.js');

/** What bin/muster tells Node. */
const nodeOptions = readFileSync(join(import.meta.dirname, '../bin/muster'), 'utf8').match(/--max-[a-z-]+=\d+/g) ?? [];

export async function startMuster(options: MusterOptions = {}): Promise<Muster> {
  const { data = newDirectory(), program = main, env = {}, node = [], allCores = false } = options;
  const command = [process.execPath, ...nodeOptions, ...node, program, '--data', data, '--listen', '127.0.0.1:0'];
  const running = await start(command, {
    env: {
      MUSTER_HARDWARE_NETWORKS: '127.0.0.0/8,::1/128',
      MUSTER_HOSTS_FILE: join(data, 'hosts'),
      MUSTER_NAME_LOOKUP: 'false',
      MUSTER_DISCOVERY_INTERFACES: 'lo',
      MUSTER_DISCOVERY_SECONDS: '1',
      MUSTER_DNS_DAEMON: 'none',
      MUSTER_DHCP_DAEMON: 'none',
      MUSTER_NEW_DATABASE: 'bare',
      MUSTER_ROOT_PASSWORD: password,
      ...env,
    },
    ...(allCores ? {} : { core: serverCore }),
    ready: /muster ready https:\/\/127\.0\.0\.1:(\d+)\/muster/,
  });
  const port = Number(running.ready[1]);
  const token = await newToken(port);
  return { ...running, port, data, token, connect: () => Connection.open(port, token) };
}

async function newToken(port: number): Promise<string> {
  const connection = await Connection.open(port);
  const body = { userName: 'root', userPW: password };
  const reply = await connection.expect({ method: 'POST', path: `${root}/tokens`, body });
  connection.close();
  return (JSON.parse(reply.body!.toString()) as { token: { id: string } }).token.id;
}

const prepared = new Map<number, Promise<string>>();

/** A data directory of its own with a cluster of so many nodes; made once, then copied. */
export async function dataWith(nodes: number): Promise<string> {
  let original = prepared.get(nodes);
  if (!original) prepared.set(nodes, (original = makeData(nodes)));
  const copy = newDirectory();
  cpSync(await original, copy, { recursive: true });
  return copy;
}

async function makeData(nodes: number): Promise<string> {
  const muster = await startMuster();
  const connection = await muster.connect();
  await putCluster(connection, nodes);
  connection.close();
  await muster.stop();
  return muster.data;
}

export async function startMusterWith(nodes: number, options: MusterOptions = {}): Promise<Muster> {
  return startMuster({ ...options, data: await dataWith(nodes) });
}
