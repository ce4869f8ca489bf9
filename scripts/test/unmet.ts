// What tests need and this machine does not have.
import type { Need } from '../../test/suite/needs.ts';
import { installMissing, testPackages } from '../packages.ts';

export interface Unmet {
  readonly need: Need;
  readonly why: string;
  readonly how: string;
}

const isRoot = process.getuid?.() === 0;

/**
 * Installs what these needs lack, as far as this is possible here, and answers those that are not met then. `canBeApart`: whether the tests
 * run in namespaces of their own.
 */
export function provide(wanted: readonly Need[], canBeApart: boolean): readonly Unmet[] {
  const inVain = (need: Need): boolean => need.root === true && !(isRoot && canBeApart);
  const names = new Set(wanted.flatMap((need) => (inVain(need) ? [] : need.packages)));
  const missing = installMissing(
    testPackages.filter(({ name }) => names.has(name)),
    'the tests',
  );
  return wanted.flatMap((need): Unmet[] => {
    if (need.root && !isRoot) return [{ need, why: 'they need root', how: 'As root' }];
    if (inVain(need)) return [{ need, why: 'no namespaces can be made here', how: 'Where unshare(1) may make some' }];
    const lacking = missing.filter(({ name, optional }) => !optional && need.packages.includes(name));
    if (lacking.length === 0) return [];
    const list = lacking.map(({ name }) => name).join(' ');
    return [{ need, why: `${list} is missing`, how: `After apt-get install ${list}` }];
  });
}
