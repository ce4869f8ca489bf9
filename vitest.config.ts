import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/harness/sequencer.ts';
import { SlowestFiles } from './test/harness/slowest-files.ts';
import { sharingFiles } from './test/harness/test-files.ts';

const sharing = sharingFiles();

export default defineConfig({
  test: {
    projects: [
      // Tests start servers, take file locks and load native modules: one process per file keeps them apart.
      { extends: true, test: { name: 'apart', include: ['test/**/*.test.ts'], exclude: sharing } },
      { extends: true, test: { name: 'sharing', include: sharing, isolate: false } },
    ],
    pool: 'forks',
    // More than processors: many tests wait for somebody.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new SlowestFiles()],
    // For all tests: what takes long on a busy machine differs from machine to machine. A test that passes takes far less.
    testTimeout: 240_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
