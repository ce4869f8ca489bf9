import { execFileSync } from 'node:child_process';
import { version } from '../../src/version.ts';

/**
 * The version of a package. Between releases it follows the commits, so that a package of a later commit is an upgrade; `~` lets the
 * release itself come after all of them.
 */
export function packageVersion(checkout: string): string {
  const git = (...words: string[]): string =>
    execFileSync('git', ['-C', checkout, ...words], { encoding: 'utf8' }).trim();
  if (git('tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`)) return version;
  const time = new Date(Number(git('log', '-1', '--format=%ct')) * 1_000).toISOString();
  return `${version}~git${time.replaceAll(/[-:T]|\.\d+Z/g, '')}.${git('log', '-1', '--format=%h', '--abbrev=8')}`;
}
