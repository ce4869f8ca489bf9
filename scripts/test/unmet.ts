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
 * Installs what tests lack, as far as this is possible here, and answers which of these needs are not met then. `canBeApart`: whether the
 * tests run in namespaces of their own.
 */
export function provide(wanted: readonly Need[], canBeApart: boolean): readonly Unmet[] {
  if (!isRoot) return wanted.map((need) => ({ need, why: 'they need root', how: 'As root' }));
  if (!canBeApart)
    return wanted.map((need) => ({ need, why: 'no namespaces can be made here', how: 'Where unshare(1) makes some' }));
  const missing = installMissing(testPackages, 'the tests');
  return wanted.flatMap((need): Unmet[] => {
    const lacking = missing.filter(({ name, optional }) => !optional && need.packages.includes(name));
    if (lacking.length === 0) return [];
    const list = lacking.map(({ name }) => name).join(' ');
    return [{ need, why: `${list} is missing`, how: `After apt-get install ${list}` }];
  });
}
