import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from './contents.ts';

interface Locked {
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
}

/** The file `copyright` of a package: muster's license, and those of what is built into it. */
export function copyright(): string {
  const { packages } = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, Locked>>;
  };
  const parts = Object.entries(packages)
    .filter(([path, { dev }]) => path.startsWith('node_modules/') && !dev && existsSync(join(checkout, path)))
    .map(
      ([path, { version, license = 'see its LICENSE' }]) =>
        `  ${path.slice('node_modules/'.length)} ${version}: ${license}`,
    )
    .toSorted();
  return [
    'muster is under the Apache License, version 2.0; on Debian systems its text is in /usr/share/common-licenses/Apache-2.0.',
    'These packages of the npm registry are built into it:',
    '',
    ...parts,
    '',
    'The program node in /usr/lib/muster/node_modules/.bin is Node.js; its license is in /usr/lib/muster/node_modules/.bin/LICENSE.',
    '',
  ].join('\n');
}
