// Types, lint and format of the whole project, and the parts of the manual that follow from the program, at the same time;
// says in a few lines what holds and what does not.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const checkout = join(import.meta.dirname, '..');
const programs = join(checkout, 'node_modules', '.bin');

const checks = [
  { name: 'types', command: ['tsc', '-p', '.'] },
  { name: 'console', command: ['tsc', '-p', 'web'] },
  { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'format', command: ['biome', 'format', '.'] },
  { name: 'manual', command: ['node', 'scripts/generated-docs.ts'] },
];

async function run({ name, command: [program = '', ...args] }: (typeof checks)[number]) {
  const started = performance.now();
  const child = spawn(join(programs, program), args, { cwd: checkout, stdio: ['ignore', 'pipe', 'pipe'] });
  const status = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [code, output, complaints] = await Promise.all([status, text(child.stdout), text(child.stderr)]);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  return { name, ok: code === 0, seconds, output: output + complaints };
}

const results = await Promise.all(checks.map(run));
for (const { name, output } of results.filter(({ ok }) => !ok)) console.log(`--- ${name}\n${output.trimEnd()}\n`);
for (const { name, ok, seconds } of results) console.log(`${name.padEnd(8)} ${ok ? 'ok' : 'FAILED'}  ${seconds} s`);
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;
