import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** A PostgreSQL server of its own that listens on a socket in a directory only, with one database. */
export interface Postgres {
  readonly url: string;
  readonly directory: string;
  readonly port: number;
  query(sql: string): string;
  start(): Promise<void>;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
  remove(): Promise<void>;
}

const port = 54_329;

/** Where Debian has the programs of the newest version. */
function programs(): string {
  const root = '/usr/lib/postgresql';
  const version = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a))[0] : undefined;
  if (version === undefined) throw new Error('PostgreSQL is not installed.');
  return join(root, version, 'bin');
}

export async function makePostgres(database: string): Promise<Postgres> {
  const bin = programs();
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
    query: (sql) => query(sql),
    async start() {
      const options = [
        '-D',
        join(directory, 'data'),
        '-k',
        directory,
        '-p',
        String(port),
        '-c',
        'listen_addresses=',
        '-c',
        'fsync=off',
      ];
      server = spawn('setpriv', [...asPostgres, join(bin, 'postgres'), ...options], {
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
