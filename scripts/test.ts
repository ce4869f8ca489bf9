// Installs the programs that tests call, if any is missing, and runs the tests. Arguments go to vitest.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileCache } from '../src/core/home.ts';
import { installMissing, testPackages } from './packages.ts';

const checkout = join(import.meta.dirname, '..');

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
const words = [process.execPath, join(checkout, 'node_modules/vitest/vitest.mjs'), 'run', ...process.argv.slice(2)];
const [program = '', ...args] = canBeApart ? [...apart, ...first, ...words] : words;
// Each file of tests has a process, and most start more: they compile nothing twice.
const env = { ...process.env, TMPDIR: scratch, NODE_COMPILE_CACHE: compileCache };
const vitest = spawn(program, args, { cwd: checkout, stdio: 'inherit', env });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => vitest.kill(canBeApart ? 'SIGKILL' : signal));
vitest.once('exit', (code) => {
  process.exitCode = code ?? 1;
  // We exit when it has.
  cleaner.stdin.end();
});
