import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Tests start servers, take file locks and load native modules: one process per file keeps them apart.
    pool: 'forks',
    maxWorkers: 2,
    // A service processor that is silent is waited for up to 50 s on a machine that is very busy.
    testTimeout: 90_000,
    hookTimeout: 60_000,
  },
});
