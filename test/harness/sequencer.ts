import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { placeOf } from './test-files.ts';

/** Those that share processes come last: a process is kept only for the next in the queue. */
const placeIn = ({ moduleId, project }: TestSpecification): number =>
  project.config.isolate ? placeOf(moduleId) : Number.POSITIVE_INFINITY;

/** The longest first, then as vitest would: by the times of the last run, or by size where there was none. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const places = new Map(files.map((file) => [file, placeIn(file)]));
    // Infinity less itself is no number.
    return (await super.sort(files)).toSorted((a, b) =>
      places.get(a) === places.get(b) ? 0 : places.get(a)! - places.get(b)!,
    );
  }
}
