import { defineConfig } from 'vitest/config';
import { FailedFiles } from './test/harness/failed-files.ts';
import { LongestFirst } from './test/harness/sequencer.ts';
import { SlowestFiles } from './test/harness/slowest-files.ts';
import { chosenPostgresFiles, postgresFiles, sharingFiles } from './test/harness/test-files.ts';

const sharing = sharingFiles();
/** All that can run on PostgreSQL does; else all run on SQLite, and some of them on PostgreSQL too. */
const allOnPostgres = process.env['MUSTER_TEST_DATABASE'] === 'postgresql';
const onPostgres = {
  extends: true,
  test: {
    name: 'postgresql',
    include: allOnPostgres ? postgresFiles() : chosenPostgresFiles(),
    globalSetup: 'test/harness/start-postgresql.ts',
    env: { MUSTER_TEST_ON: 'postgresql' },
  },
} as const;

export default defineConfig({
  test: {
    projects: allOnPostgres
      ? [onPostgres]
      : [
          // Tests start servers, take file locks and load native modules: one process per file keeps them apart.
          { extends: true, test: { name: 'apart', include: ['test/**/*.test.ts'], exclude: sharing } },
          { extends: true, test: { name: 'sharing', include: sharing, isolate: false } },
          onPostgres,
        ],
    pool: 'forks',
    // More than processors: many tests wait for somebody.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new SlowestFiles(), new FailedFiles()],
    // For all tests: what takes long on a busy machine differs from machine to machine. A test that passes takes far less.
    testTimeout: 240_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
