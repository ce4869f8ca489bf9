import type { PackageStep } from '../../update/package-list.ts';
import type { PackagesWanted } from './facts.ts';

/** All steps of package lists at once: an installer takes no order of its own. */
export function wantedOf(steps: readonly PackageStep[]): PackagesWanted {
  const names = [...new Set(steps.flatMap(({ install }) => install))];
  return {
    install: names.filter((name) => !name.startsWith('@')),
    groups: names.filter((name) => name.startsWith('@')),
    remove: [...new Set(steps.flatMap(({ removeBefore, removeAfter }) => [...removeBefore, ...removeAfter]))],
  };
}
