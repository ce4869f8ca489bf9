// Installs the programs that tests call, if any is missing, and runs the tests. Arguments go to vitest.
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const checkout = join(import.meta.dirname, '..');

/** Debian packages, the program by which each is known to be there, and what needs it. */
const packages = [
  { name: 'curl', program: 'curl', why: 'talks to the server as a client of another make' },
  { name: 'openssl', program: 'openssl', why: 'a second opinion on our certificates and TLS versions' },
  { name: 'sqlite3', program: 'sqlite3', why: 'reads the database from outside' },
  { name: 'strace', program: 'strace', why: 'shows that a write is synced before it is acknowledged' },
  { name: 'tar', program: 'tar', why: 'backup and restore' },
];

function isInstalled(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function installMissing(): void {
  const missing = packages.filter(({ program }) => !isInstalled(program));
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name);
  const reasons = missing.map(({ name, why }) => `${name} (${why})`).join(', ');
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const apt = (...args: string[]) => {
    const [program = '', ...rest] = [...asRoot, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-qq', ...args];
    return spawnSync(program, rest, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
  };
  console.error(`muster: installing for the tests with apt-get: ${reasons}`);
  const install = () => apt('install', '-y', '--no-install-recommends', ...names);
  let result = install();
  if (result.status !== 0) {
    apt('update');
    result = install();
  }
  if (result.status !== 0) {
    const reason = result.error?.message ?? result.stderr.trim();
    console.error(`muster: that failed, tests that need them will fail too: ${reason}`);
  }
}

installMissing();
const vitest = spawn(
  process.execPath,
  [join(checkout, 'node_modules/vitest/vitest.mjs'), 'run', ...process.argv.slice(2)],
  {
    cwd: checkout,
    stdio: 'inherit',
  },
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => vitest.kill(signal));
vitest.once('exit', (code) => {
  process.exitCode = code ?? 1;
});
