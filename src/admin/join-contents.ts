import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type DataPlace, keyName } from '../access/open-data.ts';
import { isWorkerName } from '../bus/index.ts';
import { Fault } from '../core/errors.ts';
import { openSshKeys } from '../nodes/index.ts';
import type { PostgresPlace } from '../database/postgresql/place.ts';

/** Stands for the data directory of whoever joins. */
export const dataDirectory = 'DIR';

/** What a server or a worker needs to join a cluster. */
export interface JoinContents {
  /** The name of the worker; undefined: it is for a server. */
  readonly worker?: string | undefined;
  /** The host that wrote it, and when. */
  readonly from: string;
  readonly made: string;
  /** URL of the database, without a password. Paths in it begin with `dataDirectory`. */
  readonly database?: string | undefined;
  /** Addresses of the message bus. */
  readonly bus: readonly string[];
  /** The servers that have the hosts file and DNS, and DHCP. */
  readonly daemons?: { readonly names: string; readonly dhcp: string } | undefined;
  readonly files: readonly JoinFile[];
}

export interface JoinFile {
  /** Below the data directory. */
  readonly path: string;
  /** In base64. */
  readonly content: string;
}

/** The settings of the message bus. */
export interface BusPlace {
  readonly servers: readonly string[];
  readonly ca?: string | undefined;
  readonly credentials?: string | undefined;
}

export interface JoinSource extends DataPlace {
  /** The setting tls.certificate is set: muster's own authority is not used. */
  readonly hasOwnCertificate: boolean;
  readonly bus: BusPlace;
  /** The settings names.server and dhcp.server: undefined is this machine. */
  readonly daemons: { readonly names: string | undefined; readonly dhcp: string | undefined };
}

/** The file of a data directory, or the one that a setting names instead. */
function fileOf(data: string, path: string, named?: string): JoinFile {
  const file = named ?? join(data, path);
  try {
    return { path, content: readFileSync(file).toString('base64') };
  } catch (error) {
    throw new Fault('unavailable', `${file} cannot be read: ${(error as Error).message}. Nothing was written.`);
  }
}

const written = () => ({ from: hostname(), made: new Date().toISOString() });

/** For a further server: the keys of the cluster, and where its data are. */
export async function contentsForServer(source: JoinSource): Promise<JoinContents> {
  const { data, postgres, hasOwnCertificate, bus, daemons } = source;
  if (!postgres)
    throw new Fault('unavailable', [
      `A further server needs a database that both servers reach, and the data of this one are in SQLite in ${data}.`,
      'Move them with muster move --to postgresql://..., set database, and start this server again.',
    ]);
  // What they do not have yet they must have in common.
  await openSshKeys(data);
  const { url, files } = databaseOf(data, postgres);
  const authority = hasOwnCertificate ? [] : authorityOf(data);
  const ssh = ['id_ed25519', 'id_ed25519.pub'].map((name) => fileOf(data, `ssh/${name}`));
  const all = [fileOf(data, keyName), ...authority, ...ssh, ...files, ...busFiles(data, bus)];
  const { names = hostname(), dhcp = hostname() } = daemons;
  return { ...written(), database: url, bus: bus.servers, daemons: { names, dhcp }, files: all };
}

function authorityOf(data: string): JoinFile[] {
  for (const name of ['tls/ca.pem', 'tls/ca.key'])
    if (!existsSync(join(data, name)))
      throw new Fault('unavailable', [
        `${join(data, name)} is missing: a further server makes its certificate with it.`,
        'Start muster once if it never ran here, or put the file back. Servers with certificates of your own (tls.certificate) need none.',
      ]);
  return [fileOf(data, 'tls/ca.pem'), fileOf(data, 'tls/ca.key')];
}

/** Parameters of the URL that name files. */
const urlFiles = { sslrootcert: 'ca.pem', sslcert: 'client.pem', sslkey: 'client.key' } as const;

/** The URL without its password, and the files that it and the password need. */
function databaseOf(data: string, { url, passwordFile }: PostgresPlace) {
  const bare = new URL(url);
  const files: JoinFile[] = [];
  for (const [name, file] of Object.entries(urlFiles)) {
    const named = bare.searchParams.get(name);
    if (named === null || named === 'system') continue;
    files.push(fileOf(data, `database/${file}`, named));
    bare.searchParams.set(name, `${dataDirectory}/database/${file}`);
  }
  const password =
    passwordFile === undefined
      ? Buffer.from(bare.searchParams.get('password') ?? decodeURIComponent(bare.password))
      : Buffer.from(fileOf(data, '', passwordFile).content, 'base64');
  bare.password = '';
  bare.searchParams.delete('password');
  if (password.length > 0) files.push({ path: 'database/password', content: password.toString('base64') });
  return { url: bare.href, files };
}

/** What the message bus needs of every server; what it keeps for others is not among it. */
function busFiles(data: string, { ca, credentials }: BusPlace): JoinFile[] {
  const named: Readonly<Record<string, string | undefined>> = { 'bus/ca.pem': ca, 'bus/server.seed': credentials };
  const found = ['bus', 'bus/workers'].flatMap((directory) =>
    filesIn(join(data, directory)).map((name) => `${directory}/${name}`),
  );
  const paths = new Set([...found, ...Object.keys(named).filter((path) => named[path] !== undefined)]);
  return [...paths].map((path) => fileOf(data, path, named[path]));
}

const filesIn = (directory: string): string[] =>
  existsSync(directory)
    ? readdirSync(directory, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? entry.name : []))
    : [];

/** For a worker: how it reaches the message bus, as whom, and nothing else. */
export function contentsForWorker({ data, bus }: JoinSource, worker: string): JoinContents {
  if (!isWorkerName(worker)) throw new Fault('invalid', `"${worker}" is no name of a worker; one is sn1.`);
  const seed = `bus/workers/${worker}.seed`;
  if (!existsSync(join(data, seed)))
    throw new Fault('unavailable', [
      `The worker ${worker} has no credentials for the message bus: there is no ${join(data, seed)}.`,
      `Make them with muster bus-config --worker ${worker}, and let nats-server read what that prints.`,
    ]);
  const files = [fileOf(data, 'bus/ca.pem', bus.ca), fileOf(data, seed)];
  return { ...written(), worker, bus: bus.servers, files };
}
