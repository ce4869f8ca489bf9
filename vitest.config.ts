import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/suite/order.ts';
import { currentPlan } from './test/suite/plan.ts';
import { SuiteReport } from './test/suite/report.ts';

const plan = currentPlan();

/** Files that run in one way; those of a later phase begin when the earlier have ended. */
const project = (name: string, include: readonly string[], more: object = {}, phase = 0) => ({
  extends: true as const,
  test: { name, include: [...include], sequence: { groupOrder: phase }, ...more },
});

const projects = [
  project('apart', plan.apart),
  project('sharing', plan.sharing, { isolate: false }),
  project('postgresql', plan.postgresql, {
    globalSetup: 'test/harness/start-postgresql.ts',
    env: { MUSTER_TEST_ON: 'postgresql' },
  }),
  project('long', plan.long, {
    env: { MUSTER_FUZZ_REQUESTS: '20000', MUSTER_POLICY_RUNS: '150', MUSTER_KILL_EVERY: '1' },
  }),
  project('alone', plan.alone, { maxWorkers: 1 }, 1),
];

export default defineConfig({
  test: {
    // One without files would take all that there are.
    projects: projects.filter(({ test }) => test.include.length > 0),
    pool: 'forks',
    // More than processors: many tests wait for somebody.
    maxWorkers: Number(process.env['MUSTER_TEST_WORKERS'] ?? 4),
    setupFiles: 'test/suite/in-worker.ts',
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new SuiteReport()],
    // For all tests: what takes long on a busy machine differs from machine to machine. A test that passes takes far less.
    testTimeout: 240_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
