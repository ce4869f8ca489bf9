import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { longest } from './longest-files.ts';

const place = (file: string): number => {
  const index = longest.findIndex((each) => file.endsWith(`/${each}`));
  return index < 0 ? longest.length : index;
};

/** The order vitest would choose, but for those: where the tests have not run before, it goes by the sizes of the files. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => place(a.moduleId) - place(b.moduleId));
  }
}
