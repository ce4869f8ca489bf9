import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Tree } from './trees.ts';

export interface BurnOptions {
  /** How files are called on it. */
  readonly names?: 'rock-ridge' | 'own-modes' | 'joliet' | 'plain';
  /** Puts the MD5 sum of the whole medium into it. */
  readonly implants?: boolean;
  /** Something to do to the tree before. */
  before?(tree: string): void;
}

const nameFlags = {
  'rock-ridge': ['-r', '-J'],
  'own-modes': ['-R', '-J'],
  joliet: ['--norock', '-J'],
  plain: ['--norock'],
} as const;

/** Makes a medium with these files in the directory, and says where it is. */
export function burn(directory: string, name: string, tree: Tree, options: BurnOptions = {}): string {
  const { names = 'rock-ridge', implants = false, before } = options;
  const root = mkdtempSync(join(directory, 'tree-'));
  const iso = join(directory, `${name}.iso`);
  try {
    for (const [path, entry] of Object.entries(tree)) put(join(root, path), entry);
    before?.(root);
    const flags = ['-as', 'mkisofs', '-quiet', ...nameFlags[names], '-V', 'LAB', '-o', iso, root];
    execFileSync('xorriso', flags, { stdio: 'pipe' });
    if (implants) execFileSync('implantisomd5', ['-f', iso], { stdio: 'pipe' });
    return iso;
  } finally {
    rmSync(root, { recursive: true });
  }
}

function put(path: string, entry: Tree[string]): void {
  mkdirSync(dirname(path), { recursive: true });
  if (typeof entry === 'string' || Buffer.isBuffer(entry)) writeFileSync(path, entry);
  else if ('link' in entry) symlinkSync(entry.link, path);
  else execFileSync('mknod', [path, 'b', '8', '0']);
}
