// Installs the programs that tests call, if any is missing, and runs the tests. `--database postgresql` runs all that can be on PostgreSQL;
// other arguments go to vitest.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileCache } from '../src/core/home.ts';
import { installMissing, testPackages } from './packages.ts';

const checkout = join(import.meta.dirname, '..');
/** A test that fails only beside others is one to make steady. More than these at once are something else. */
const mostAgain = 5;
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
let ended = false;

/**
 * Processes and mounts of the tests are in namespaces of their own, so that none outlives them or us, whatever fails. A shell is the first
 * process there, since that one has to take care of processes whose parents have gone. Network namespaces are called by the numbers of
 * processes, which are the same in every run: each run has a list of its own.
 */
const withUs = ['setpriv', '--pdeathsig', 'KILL'];
const apart = [...withUs, 'unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
const first = ['bash', '-c', 'mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns; "$@"; exit $?', 'tests'];

const canBeApart = spawnSync(apart[0]!, [...apart.slice(1), 'true']).status === 0;
if (!canBeApart) console.error('muster: no namespaces can be made here: what tests start may stay if they fail.');

installMissing(testPackages, 'the tests');
// Sockets are in it, whose paths must be short.
const scratch = mkdtempSync(join(tmpdir(), 'mt-'));
// Daemons of tests run as other users too.
chmodSync(scratch, 0o755);
// Somebody who outlives us, also if we are killed, and reads until we have gone.
const remove = 'cat > /dev/null; until rm -rf -- "$1"; do sleep 0.2; done';
const cleaner = spawn('sh', ['-c', remove, 'cleaner', scratch], {
  detached: true,
  stdio: ['pipe', 'ignore', 'ignore'],
});
const { database, rest } = chosenDatabase(process.argv.slice(2));
const failedFiles = join(scratch, 'failed-files');
// Each file of tests has a process, and most start more: they compile nothing twice.
const env = {
  ...process.env,
  TMPDIR: scratch,
  NODE_COMPILE_CACHE: compileCache,
  MUSTER_FAILED_FILES: failedFiles,
  ...(database !== undefined && { MUSTER_TEST_DATABASE: database }),
};
let code = await vitest(rest);
const alone = code === 0 ? [] : failed();
if (rest.length === 0 && alone.length > 0 && alone.length <= mostAgain) {
  const names = alone.map((file) => `  ${file}`).join('\n');
  console.error(`\nmuster: these files failed beside others. They run once more, alone:\n${names}\n`);
  code = await vitest([...alone, '--maxWorkers', '1']);
  if (code === 0)
    console.error(`\nmuster: passed alone, failed beside others (above): tests to make steady:\n${names}\n`);
}
process.exitCode = code;
// We exit when it has.
cleaner.stdin.end();

function vitest(more: readonly string[]): Promise<number> {
  const words = [process.execPath, join(checkout, 'node_modules/vitest/vitest.mjs'), 'run', ...more];
  const [program = '', ...args] = canBeApart ? [...apart, ...first, ...words] : words;
  const child = spawn(program, args, { cwd: checkout, stdio: 'inherit', env });
  const end = (signal: NodeJS.Signals) => {
    ended = true;
    child.kill(canBeApart ? 'SIGKILL' : signal);
  };
  for (const signal of signals) process.on(signal, end);
  return new Promise((resolve) =>
    child.once('exit', (status) => {
      for (const signal of signals) process.off(signal, end);
      resolve(status ?? 1);
    }),
  );
}

/** Files with tests that failed. None if the run did not come to its end. */
function failed(): readonly string[] {
  if (ended || !existsSync(failedFiles)) return [];
  return readFileSync(failedFiles, 'utf8').split('\n').filter(Boolean);
}

/** Takes `--database NAME` out of the words. */
function chosenDatabase(given: readonly string[]): { database: string | undefined; rest: readonly string[] } {
  const at = given.indexOf('--database');
  if (at < 0) return { database: undefined, rest: given };
  const name = given[at + 1];
  if (name !== 'postgresql' && name !== 'sqlite') {
    console.error('muster: --database takes postgresql or sqlite.');
    process.exit(2);
  }
  return { database: name, rest: [...given.slice(0, at), ...given.slice(at + 2)] };
}
