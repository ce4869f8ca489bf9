import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { checkout } from './imports.ts';
import { type FileTime, keyOf, readTimes } from './times.ts';

/** A file of which nothing is known. */
const unknown: FileTime = { group: '', seconds: 30, cpu: 10 };

/** Whether a file waits most of its time: for timeouts, or for programs that other files wait for as well. */
const isWaiting = ({ seconds, cpu }: FileTime): boolean => cpu < seconds / 3;

/** `[1, 2, 3], [7]` becomes `[1, 7, 2, 3]`. */
const interleaved = <T>(first: readonly T[], second: readonly T[]): T[] =>
  Array.from({ length: Math.max(first.length, second.length) }, (_, i) => [
    ...first.slice(i, i + 1),
    ...second.slice(i, i + 1),
  ]).flat();

/**
 * The longest first: one that began among the last would be waited for alone. Files that wait and files that keep a processor busy take turns,
 * so that there is always work for all processors. Those that share a process come last: it is kept only for the next in the queue.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const times = readTimes();
    const timeOf = ({ moduleId, project }: TestSpecification): FileTime =>
      times[keyOf(project.name, relative(checkout, moduleId))] ?? unknown;
    const sorted = files.toSorted((a, b) => timeOf(b).seconds - timeOf(a).seconds);
    const { apart = [], sharing = [] } = Object.groupBy(sorted, ({ project }) =>
      project.config.isolate ? 'apart' : 'sharing',
    );
    const { waiting = [], busy = [] } = Object.groupBy(apart, (file) => (isWaiting(timeOf(file)) ? 'waiting' : 'busy'));
    return [...interleaved(waiting, busy), ...sharing];
  }
}
