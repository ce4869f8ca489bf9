import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/longest-first.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Tests start servers, take file locks and load native modules: one process per file keeps them apart.
    pool: 'forks',
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    // A machine may be busy with other things, and a silent service processor is waited for up to 50 s then; what passes takes no longer.
    testTimeout: 90_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
