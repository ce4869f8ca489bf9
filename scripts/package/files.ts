// Files of a package as data, and how they come into a directory.
import { chmodSync, copyFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface PackageFile {
  /** Where it is when the package is installed. */
  readonly path: string;
  /** A file that is copied, a text, what a link leads to, or an empty directory. */
  readonly content:
    | { readonly file: string }
    | { readonly text: string | Buffer }
    | { readonly link: string }
    | { readonly directory: true };
  readonly mode?: number;
  /** An administrator may change it, and an upgrade asks before it replaces it. */
  readonly isConfiguration?: boolean;
}

/** All files below a directory. */
export function filesBelow(
  directory: string,
  path: string,
  wanted: (name: string) => boolean = () => true,
): PackageFile[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => wanted(file.slice(directory.length + 1)))
    .toSorted()
    .map((file) => ({ path: join(path, file.slice(directory.length + 1)), content: { file } }));
}

const isProgram = 0o111;

export function writeFiles(root: string, files: readonly PackageFile[]): void {
  for (const { path, content, mode = 0o644 } of files) {
    const target = join(root, path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o755 });
    if ('directory' in content) mkdirSync(target, { mode });
    else if ('link' in content) symlinkSync(content.link, target);
    else {
      if ('file' in content) copyFileSync(content.file, target);
      else writeFileSync(target, content.text);
      chmodSync(target, mode);
    }
  }
}

export const program = 0o644 | isProgram;
