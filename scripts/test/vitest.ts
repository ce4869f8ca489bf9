// One run of vitest, from which nothing stays behind.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileCache } from '../../src/core/home.ts';
import type { Plan } from '../../test/suite/plan.ts';
import type { RunReport } from '../../test/suite/report.ts';

const checkout = join(import.meta.dirname, '../..');
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Processes and mounts of the tests are in namespaces of their own, so that none outlives them or us, whatever fails. A shell is the first
 * process there, since that one has to take care of processes whose parents have gone. Network namespaces are called by the numbers of
 * processes, which are the same in every run: each run has a list of its own.
 */
const withUs = ['setpriv', '--pdeathsig', 'KILL'];
const apart = [...withUs, 'unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
const first = ['bash', '-c', 'mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns; "$@"; exit $?', 'tests'];

export const canBeApart = spawnSync(apart[0]!, [...apart.slice(1), 'true']).status === 0;

export interface Outcome {
  readonly code: number;
  /** None if the run did not come to its end. */
  readonly report: RunReport | undefined;
}

export interface Runner {
  run(plan: Plan, options: readonly string[], environment?: NodeJS.ProcessEnv): Promise<Outcome>;
  /** Any other program, in the same way. */
  program(words: readonly string[], environment: NodeJS.ProcessEnv): Promise<number>;
  close(): void;
}

export function openRunner(): Runner {
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
  const file = (name: string): string => join(scratch, name);
  mkdirSync(file('notes'));
  // Each file of tests has a process, and most start more: they compile nothing twice.
  const common = { ...process.env, TMPDIR: scratch, NODE_COMPILE_CACHE: compileCache };
  const runner: Runner = {
    async run(plan, options, environment = {}) {
      writeFileSync(file('plan'), JSON.stringify(plan));
      rmSync(file('report'), { force: true });
      const code = await runner.program(['node_modules/vitest/vitest.mjs', 'run', ...options], {
        MUSTER_TEST_PLAN: file('plan'),
        MUSTER_TEST_REPORT: file('report'),
        MUSTER_TEST_NOTES: file('notes'),
        ...environment,
      });
      const text = existsSync(file('report')) ? readFileSync(file('report'), 'utf8') : undefined;
      return { code, report: text === undefined ? undefined : (JSON.parse(text) as RunReport) };
    },
    program(words, environment) {
      const all = [process.execPath, ...words];
      const [program = '', ...args] = canBeApart ? [...apart, ...first, ...all] : all;
      const child = spawn(program, args, { cwd: checkout, stdio: 'inherit', env: { ...common, ...environment } });
      const end = (signal: NodeJS.Signals) => child.kill(canBeApart ? 'SIGKILL' : signal);
      for (const signal of signals) process.on(signal, end);
      return new Promise((resolve) =>
        child.once('exit', (status) => {
          for (const signal of signals) process.off(signal, end);
          resolve(status ?? 1);
        }),
      );
    },
    // We exit when the cleaner has.
    close: () => void cleaner.stdin.end(),
  };
  return runner;
}
