// Installs the programs that tests call, if any is missing, and runs the tests: CONTRIBUTING.md lists the words that it takes.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { reachedSince } from '../test/suite/changed.ts';
import { type TestFile, testFiles } from '../test/suite/files.ts';
import { groupNames, needs } from '../test/suite/needs.ts';
import { type Choice, type Part, pathsOf, planOf } from '../test/suite/plan.ts';
import type { FailedFile } from '../test/suite/report.ts';
import { writeTimes } from '../test/suite/times.ts';
import { provide, type Unmet } from './test/unmet.ts';
import { canBeApart, openRunner, type Runner } from './test/vitest.ts';
import { readWords, type Words, WrongWords } from './test/words.ts';

const results = process.env['MUSTER_TEST_RESULTS'] ?? join(import.meta.dirname, '../test-results');
/** A test that fails only beside others is one to make steady. More than these at once are something else. */
const mostAgain = 20;

const began = Date.now();
const say = (text: string): void => console.error(`muster: ${text}`);

/** The files that the words name, in whatever way; undefined if they name none. */
function named({ files, changedSince }: Words): readonly string[] | undefined {
  if (changedSince !== undefined) {
    try {
      return reachedSince(changedSince);
    } catch (error) {
      throw new WrongWords(`--changed ${changedSince}: git cannot compare with that. Name a commit. ${String(error)}`);
    }
  }
  if (files.length === 0) return undefined;
  return testFiles().flatMap(({ path }) => (files.some((part) => path.includes(part)) ? [path] : []));
}

function choiceOf(words: Words): Choice {
  const only = named(words);
  return {
    part: words.part,
    onPostgres: words.onPostgres,
    unmet: [],
    ...(words.groups.length > 0 && { groups: words.groups }),
    ...(only && { only }),
  };
}

const counted = ({ length }: readonly unknown[]): string => (length === 1 ? '1 file' : `${length} files`);

/** One line for each group that does not run, why, and how to run it. */
function sayLeftOut(files: readonly TestFile[], unmet: readonly Unmet[], part: Part): number {
  const firstUnmet = ({ needs: own }: TestFile): Unmet | undefined =>
    own.flatMap((need) => unmet.filter((each) => each.need === need))[0];
  const left = files.filter(firstUnmet);
  for (const [one, own] of Map.groupBy(left, firstUnmet)) {
    const { need, why, how } = one!;
    say(`left out: ${need.name}, ${counted(own)} (${need.what}): ${why}. ${how}: npm test -- --group ${need.name}`);
  }
  if (part === 'quick')
    for (const { name, what, machines } of needs)
      if (machines) say(`left out: ${name} (${what}): they take long. npm run test:machines`);
  return left.length;
}

/** Runs files that failed once more, alone. Names what passes then, and keeps it for whoever makes it steady. */
async function again(runner: Runner, choice: Choice, words: Words, failed: readonly FailedFile[]): Promise<number> {
  const paths = [...new Set(failed.map(({ file }) => file))];
  say(`these files failed. They run once more, alone:\n${paths.map((path) => `  ${path}`).join('\n')}\n`);
  const load = loadavg();
  const { code, report } = await runner.run(planOf({ ...choice, only: paths }), words.others, {
    MUSTER_TEST_WORKERS: '1',
  });
  const still = new Set(report?.failed.map(({ file }) => file));
  const flaky = report ? failed.filter(({ file }) => !still.has(file)) : [];
  if (flaky.length === 0) return code;
  mkdirSync(results, { recursive: true });
  writeFileSync(join(results, 'flaky.json'), `${JSON.stringify({ load, files: flaky }, undefined, 2)}\n`);
  say('passed alone, failed beside others; test-results/flaky.json has what they and their servers said:');
  for (const { file, tests } of flaky) for (const { name } of tests) console.error(`  ${file}: ${name}`);
  return code;
}

async function runTests(words: Words): Promise<number> {
  const choice = choiceOf(words);
  const all = new Set(pathsOf(planOf(choice)));
  const files = testFiles().filter(({ path }) => all.has(path));
  if (words.list) {
    for (const { path, group } of files) console.log(`${group.padEnd(14)} ${path}`);
    return 0;
  }
  const wanted = needs.filter((need) => files.some((file) => file.needs.includes(need)));
  const unmet = provide(wanted, canBeApart);
  const possible: Choice = { ...choice, unmet: unmet.map(({ need }) => need.name) };
  rmSync(join(results, 'flaky.json'), { force: true });
  const runner = openRunner();
  try {
    const code = await runPlan(runner, possible, words, files.length === 0);
    const left = sayLeftOut(files, unmet, words.part);
    const also = left > 0 ? `; what was left out is above` : '';
    say(`${code === 0 ? 'passed' : 'failed'} after ${minutes(Date.now() - began)}${also}.`);
    return code === 0 && words.complete && left > 0 ? 1 : code;
  } finally {
    runner.close();
  }
}

async function runPlan(runner: Runner, choice: Choice, words: Words, isEmpty: boolean): Promise<number> {
  const plan = planOf(choice);
  // Another root has files of its own.
  const isForeign = words.others.includes('--root');
  if (pathsOf(plan).length === 0 && !isForeign) {
    say(isEmpty ? 'no file of tests is meant by these words.' : 'no file of tests can run here.');
    return isEmpty && words.changedSince === undefined ? 1 : 0;
  }
  const isAboutMachines = words.part === 'machines';
  // Emulated machines keep a processor busy each.
  const workers = isAboutMachines ? { MUSTER_TEST_WORKERS: String(Math.max(2, availableParallelism())) } : {};
  const { code, report } = await runner.run(plan, words.others, workers);
  if (report && words.writeTimes) writeTimes(report.times);
  const failed = report?.failed ?? [];
  const isWorthIt = failed.length > 0 && failed.length <= mostAgain && !isForeign;
  const result = code !== 0 && isWorthIt ? await again(runner, choice, words, failed) : code;
  const hasChaos = isAboutMachines && !choice.unmet.some((name) => name === 'bus' || name === 'postgresql');
  if (result !== 0 || !hasChaos) return result;
  return runner.program(['bench/run.ts', '--only', 'chaos'], { MUSTER_CHAOS_MINUTES: '2' });
}

const minutes = (milliseconds: number): string => {
  const seconds = Math.round(milliseconds / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
};

try {
  process.exitCode = await runTests(readWords(process.argv.slice(2), groupNames));
} catch (error) {
  if (!(error instanceof WrongWords)) throw error;
  say(error.message);
  process.exitCode = 2;
}
