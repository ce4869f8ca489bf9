// What tests need and this machine does not have.
import { type Need, needs } from '../../test/suite/needs.ts';
import { type DebianPackage, installMissing, testPackages } from '../packages.ts';

export interface Unmet {
  readonly need: Need;
  readonly why: string;
  readonly how: string;
}

/** Installs what the needs of these files lack, as far as this is possible here. */
export const provide = (wanted: readonly Need[]): readonly DebianPackage[] =>
  installMissing(
    testPackages.filter(({ name }) => wanted.some(({ packages }) => packages.includes(name))),
    'the tests',
  );

/** `missing` are packages that could not be installed; `canBeApart`, whether the tests run in namespaces of their own. */
export function unmetNeeds(missing: readonly DebianPackage[], canBeApart: boolean): readonly Unmet[] {
  const isRoot = process.getuid?.() === 0;
  return needs.flatMap((need): Unmet[] => {
    if (need.root && !isRoot) return [{ need, why: 'that needs root', how: 'run them as root' }];
    if (need.root && !canBeApart)
      return [{ need, why: 'unshare(1) makes no namespaces here', how: 'run them on a machine of your own' }];
    const lacking = missing.filter(({ name, optional }) => !optional && need.packages.includes(name));
    if (lacking.length === 0) return [];
    const list = lacking.map(({ name }) => name).join(' ');
    return [{ need, why: `${list} is missing`, how: `apt-get install ${list}` }];
  });
}
