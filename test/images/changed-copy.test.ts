import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { changedCopy } from '../../src/images/tree/changed-copy.ts';
import { directWork } from '../harness/work.ts';
import { temporary } from './small-image.ts';

const time = new Date('2024-01-02T03:04:05Z');

/** Kind, mode, owner, size, links, time, place, destination and content of all that is in a tree. */
const everything = (tree: string): string[] => {
  const found = execFileSync('find', ['.', '-printf', '%y %m %U:%G %n %p %l %TY-%Tm\n'], {
    cwd: tree,
    encoding: 'latin1',
  });
  const sums = execFileSync('sh', ['-c', 'find . -type f -exec sha256sum {} +'], { cwd: tree, encoding: 'latin1' });
  // The number of files in a directory depends on how it was made.
  return [...found.replaceAll(/^(d .*) \d+ (\.\S*)/gm, '$1 $2').split('\n'), ...sums.split('\n')].sort();
};

function makeTree(): string {
  const tree = join(temporary(), '.private/rootimg');
  for (const name of ['etc/kept', 'etc/replaced', 'etc/moved/below', 'usr/lib']) {
    mkdirSync(join(tree, name), { recursive: true });
    writeFileSync(join(tree, name, 'file'), `${name}\n`);
    utimesSync(join(tree, name, 'file'), time, time);
  }
  writeFileSync(join(tree, 'usr/lib/twin'), 'twin');
  linkSync(join(tree, 'usr/lib/twin'), join(tree, 'usr/lib/other-twin'));
  symlinkSync('lib', join(tree, 'usr/link'));
  return tree;
}

/** What programs do to a tree. */
function change(root: string): void {
  const at = (name: string): string => join(root, name);
  appendFileSync(at('etc/kept/file'), 'more\n');
  rmSync(at('etc/replaced'), { recursive: true });
  mkdirSync(at('etc/replaced'));
  writeFileSync(at('etc/replaced/new'), 'new', { mode: 0o600 });
  // Over directories of another layer this is no plain rename.
  execFileSync('mv', [at('etc/moved'), at('etc/elsewhere')]);
  rmSync(at('usr/link'));
  mkdirSync(at('usr/link'));
  chmodSync(at('usr/lib'), 0o700);
  rmSync(at('usr/lib/file'));
  mkdirSync(at('usr/lib/file'));
  writeFileSync(at('added'), 'a');
  linkSync(at('added'), at('added-too'));
  renameSync(at('added'), at('-n renamed'));
  execFileSync('sh', ['-c', 'printf x > "$(printf "name\\\\377")"'], { cwd: root });
  symlinkSync('/etc/shadow', at('etc/out'));
}

it('has all that was done, with an overlay as by copying, and the tree stays as it is', async () => {
  const results = [];
  for (const hasOwnMounts of [false, true]) {
    const tree = makeTree();
    const before = everything(tree);
    const [staging, copy] = [join(tree, '../../staging'), join(tree, '../../copy')];
    mkdirSync(staging);
    const task = directWork({ hasOwnMounts });
    try {
      await changedCopy(task, { tree, staging, copy }, async (root) => change(root));
      expect(task.programs.map(([name]) => name)).toContain(hasOwnMounts ? 'mount' : 'cp');
      results.push(everything(copy));
      expect(everything(tree).map((line) => line.replace(/ \d+ (\.\/\S+)/, ' $1'))).toEqual(
        before.map((line) => line.replace(/ \d+ (\.\/\S+)/, ' $1')),
      );
    } finally {
      task.end();
    }
  }
  const withoutLinks = results.map((lines) => lines.map((line) => line.replace(/^(\S \S+ \S+) \d+ /, '$1 ')));
  expect(withoutLinks[1]).toEqual(withoutLinks[0]);
});
