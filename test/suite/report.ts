// What `npm test` gets to know of a run of vitest: how long each part took, what failed with which words, and what hung.
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import { checkout } from './imports.ts';
import { endHung } from './hung.ts';
import { type FileTime, keyOf, longestFor, readTimes, type Times } from './times.ts';
import { testFiles } from './files.ts';

export interface FailedFile {
  readonly file: string;
  readonly tests: readonly { readonly name: string; readonly errors: readonly string[] }[];
  /** What servers had written then, the end of it. */
  readonly outputs: readonly string[];
}

export interface RunReport {
  readonly times: Times;
  readonly failed: readonly FailedFile[];
}

const shown = 20;
const idOf = (module: TestModule): string => `${module.project.name} ${module.moduleId}`;
const pathOf = ({ moduleId }: TestModule): string => relative(checkout, moduleId);

function failedTest(test: TestCase): FailedFile['tests'][number] {
  const errors = test.result().errors?.map((error) => error.stack ?? error.message) ?? [];
  return { name: test.fullName, errors };
}

function failedFile(module: TestModule): FailedFile {
  const failed = [...module.children.allTests('failed')];
  const tests = failed.map(failedTest);
  const errors = module.errors().map((error) => error.stack ?? error.message);
  if (errors.length > 0) tests.push({ name: 'the file', errors });
  else if (tests.length === 0) tests.push({ name: 'the file', errors: ['Its process ended in the middle.'] });
  const outputs = failed.findLast((test) => test.meta().outputs)?.meta().outputs ?? [];
  return { file: pathOf(module), tests, outputs };
}

export class SuiteReport implements Reporter {
  /** Files that have begun and not ended, by project and path. */
  readonly #running = new Map<string, { readonly module: TestModule; readonly since: number }>();
  readonly #times: Record<string, FileTime> = {};
  readonly #usual = readTimes();
  readonly #groups = new Map(testFiles().map(({ path, group }) => [path, group]));
  #watch: NodeJS.Timeout | undefined;

  onTestRunStart(): void {
    this.#watch = setInterval(() => this.#endHung(), 5_000).unref();
  }

  onTestModuleQueued(module: TestModule): void {
    this.#running.set(idOf(module), { module, since: Date.now() });
  }

  onTestModuleEnd(module: TestModule): void {
    const seconds = (Date.now() - this.#running.get(idOf(module))!.since) / 1_000;
    this.#running.delete(idOf(module));
    const key = keyOf(module.project.name, pathOf(module));
    const group = this.#groups.get(pathOf(module)) ?? '';
    this.#times[key] = { group, seconds: rounded(seconds), cpu: rounded(module.meta().cpu ?? 0) };
    // Vitest shows errors when the whole run has ended, which may be much later or never.
    if (!module.ok())
      for (const { name, errors } of failedFile(module).tests) console.error(`${key}: ${name}\n${errors.join('\n')}\n`);
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    clearInterval(this.#watch);
    // Files whose processes ended in the middle are still running for us.
    const cutOff = [...this.#running.values()].map(({ module }) => module);
    const failed = [...modules.filter((module) => !module.ok() && !this.#running.has(idOf(module))), ...cutOff].map(
      failedFile,
    );
    const place = process.env['MUSTER_TEST_REPORT'];
    if (place !== undefined) writeFileSync(place, JSON.stringify({ times: this.#times, failed } satisfies RunReport));
    if (modules.length > shown) this.#print();
  }

  #endHung(): void {
    for (const { module, since } of this.#running.values()) {
      const usual = this.#usual[keyOf(module.project.name, pathOf(module))];
      const seconds = (Date.now() - since) / 1_000;
      // Whoever shares a process would take the others along.
      if (seconds < longestFor(usual) || !module.project.config.isolate) continue;
      if (endHung(module.project.name, module.moduleId))
        console.error(
          `muster: ${pathOf(module)} hung and was ended after ${Math.round(seconds)} s (it usually takes ${usual?.seconds ?? 'unknown'} s).`,
        );
    }
  }

  #print(): void {
    const times = Object.entries(this.#times).toSorted(([, a], [, b]) => b.seconds - a.seconds);
    console.log(`\n The ${shown} slowest files     seconds   of processors`);
    for (const [key, { seconds, cpu }] of times.slice(0, shown)) console.log(line(key, seconds, cpu));
    console.log('\n The parts, longest first');
    const groups = Map.groupBy(times, ([key, { group }]) =>
      key.includes(' ') ? `again, ${key.split(' ')[0]}` : group,
    );
    const sums = [...groups].map(([group, files]) => {
      const sum = (pick: (time: FileTime) => number): number => files.reduce((all, [, time]) => all + pick(time), 0);
      return {
        name: `${group}, ${files.length} files`,
        seconds: sum((time) => time.seconds),
        cpu: sum((time) => time.cpu),
      };
    });
    for (const { name, seconds, cpu } of sums.toSorted((a, b) => b.seconds - a.seconds))
      console.log(line(name, seconds, cpu));
  }
}

const rounded = (seconds: number): number => Math.round(seconds * 10) / 10;

const line = (name: string, seconds: number, cpu: number): string =>
  `${seconds.toFixed(1).padStart(10)} ${cpu.toFixed(1).padStart(10)}   ${name}`;
