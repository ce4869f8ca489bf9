import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { checkout } from './imports.ts';
import { keyOf, readTimes } from './times.ts';

/** Seconds that a file takes of which nothing is known. */
const unknown = 30;

/** The longest first: one that began among the last would be waited for alone. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const times = readTimes();
    /** Those that share processes come last: a process is kept only for the next in the queue. */
    const secondsOf = ({ moduleId, project }: TestSpecification): number =>
      project.config.isolate ? (times[keyOf(project.name, relative(checkout, moduleId))]?.seconds ?? unknown) : -1;
    const seconds = new Map(files.map((file) => [file, secondsOf(file)]));
    return files.toSorted((a, b) => seconds.get(b)! - seconds.get(a)!);
  }
}
