import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { RemoteFiles } from '../../../src/protocols/ssh/sftp/files.ts';
import { LocalFiles } from '../../../src/nodes/remote/local-files.ts';
import { copiesOf } from '../../../src/nodes/update/sync-node.ts';
import { wantedTree } from '../../../src/nodes/update/node-plan.ts';

it('nodes share what is known of the files of a tree, so that many of both fit into memory', async () => {
  const path = mkdtempSync(join(tmpdir(), 'muster-copies-'));
  try {
    for (const name of ['a', 'b']) writeFileSync(join(path, name), name);
    const trees = [await wantedTree(new LocalFiles(), { path, real: path })];
    const rule = {
      where: 'list, line 1',
      sources: [path],
      intoDirectory: false,
      nodes: undefined,
      roots: [],
      idle: [],
      trees,
    };
    const plan = (destination: string) => ({
      copies: [{ ...rule, destination }],
      appends: [],
      merges: [],
      scripts: [],
      scriptsAlways: [],
      looseScripts: [],
      notes: [],
    });
    // Where the files of a directory go is known without asking the node.
    const files = {} as RemoteFiles;
    const [one, two] = [await copiesOf(files, plan('/x'), '/s'), await copiesOf(files, plan('/x'), '/s')];
    expect(one.map((copy) => copy.path.toString())).toEqual(['/x', '/x/a', '/x/b']);
    for (const [index, copy] of one.entries()) expect(two[index]).toBe(copy);
    const other = await copiesOf(files, plan('/y'), '/s');
    expect(other.map((copy) => copy.path.toString())).toEqual(['/y', '/y/a', '/y/b']);
  } finally {
    rmSync(path, { recursive: true });
  }
});
