// Installs the programs that tests call, if any is missing, and runs the tests. Arguments go to vitest.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { installMissing, testPackages } from './packages.ts';

const checkout = join(import.meta.dirname, '..');

installMissing(testPackages, 'the tests');
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
