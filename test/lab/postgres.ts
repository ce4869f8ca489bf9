import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Namespace } from './netns.ts';

/** Listens there too, for whoever has a password. */
export interface Network {
  readonly addresses: readonly string[];
  readonly port: number;
  /** PEM; without it there is no TLS. */
  readonly tls?: { readonly certificate: string; readonly key: string };
  /** Where the addresses are. */
  readonly namespace?: Namespace;
}

/** A PostgreSQL server of its own that listens on a socket in a directory, with one database. */
export interface Postgres {
  readonly url: string;
  readonly directory: string;
  readonly port: number;
  query(sql: string, database?: string): string;
  /** Settings replace those that it has usually, such as `ssl=off`. */
  start(...settings: readonly string[]): Promise<void>;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
  remove(): Promise<void>;
}

/** The socket in a directory of its own has it in its name. */
const usualPort = 54_329;

/** Where Debian has the programs of the newest version. */
function programs(): string {
  const root = '/usr/lib/postgresql';
  const version = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a))[0] : undefined;
  if (version === undefined) throw new Error('PostgreSQL is not installed.');
  return join(root, version, 'bin');
}

export async function makePostgres(database: string, network?: Network): Promise<Postgres> {
  const bin = programs();
  const port = network?.port ?? usualPort;
  const directory = mkdtempSync(join(tmpdir(), 'muster-pg-'));
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' })));
  chownSync(directory, uid!, gid!);
  // It does not run as root.
  const asPostgres = ['--reuid', 'postgres', '--regid', 'postgres', '--clear-groups', '--pdeathsig', 'KILL'];
  const run = (program: string, ...args: string[]): string =>
    execFileSync('setpriv', [...asPostgres, join(bin, program), ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: directory,
    });
  run('initdb', '-D', join(directory, 'data'), '-A', 'trust', '-U', 'postgres', '--no-sync');
  const settings = ['fsync=off', 'max_connections=400', `listen_addresses=${network?.addresses.join(',') ?? ''}`];
  if (network) {
    const { tls } = network;
    for (const [name, text] of [
      ...(tls
        ? ([
            ['server.crt', tls.certificate],
            ['server.key', tls.key],
          ] as const)
        : []),
      ['pg_hba.conf', 'local all all trust\nhost all all all scram-sha-256\n'],
    ] as const) {
      writeFileSync(join(directory, 'data', name), text, { mode: 0o600 });
      chownSync(join(directory, 'data', name), uid!, gid!);
    }
    if (tls) settings.push('ssl=on');
  }
  let server: ReturnType<typeof spawn> | undefined;
  const query = (sql: string, name = database): string =>
    run('psql', '-h', directory, '-p', String(port), '-U', 'postgres', '-d', name, '-Atqc', sql).trim();
  const ended = (): Promise<void> =>
    new Promise((resolve) => {
      if (!server || server.exitCode !== null || server.signalCode !== null) resolve();
      else server.once('exit', () => resolve());
    });
  const postgres: Postgres = {
    url: `postgresql://kea:secret@localhost:${port}/${database}?host=${encodeURIComponent(directory)}`,
    directory,
    port,
    query,
    async start(...others) {
      const place = ['-D', join(directory, 'data'), '-k', directory, '-p', String(port)];
      const options = [...place, ...[...settings, ...others].flatMap((each) => ['-c', each])];
      const words = ['setpriv', ...asPostgres, join(bin, 'postgres'), ...options] as const;
      const [file, ...args] = network?.namespace?.command(...words) ?? words;
      server = spawn(file, args, {
        stdio: 'ignore',
        cwd: directory,
      });
      for (let tries = 0; tries < 300; tries++) {
        try {
          query('SELECT 1', 'postgres');
          return;
        } catch {
          await pause(100);
        }
      }
      throw new Error('PostgreSQL does not answer.');
    },
    async kill() {
      // The signal that ends all its processes without a checkpoint.
      server?.kill('SIGQUIT');
      await ended();
    },
    async remove() {
      await postgres.kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
  try {
    await postgres.start();
    query("CREATE USER kea PASSWORD 'secret' SUPERUSER", 'postgres');
    query(`CREATE DATABASE ${database} OWNER kea`, 'postgres');
  } catch (error) {
    await postgres.remove();
    throw error;
  }
  return postgres;
}
