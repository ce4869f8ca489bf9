import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface LabPackage {
  readonly name: string;
  readonly version: string;
  /** A shell script that is run when it is installed. */
  readonly postinst?: string;
}

/** The files of a repository for apt, by name. A package of it installs `/opt/lab/NAME`, whose content is the version. */
export function makeRepository(packages: readonly LabPackage[]): Map<string, Buffer> {
  const directory = mkdtempSync(join(tmpdir(), 'muster-packages-'));
  try {
    const files = new Map<string, Buffer>();
    const index = packages.map((each) => {
      const file = `${each.name}_${each.version}_all.deb`;
      const bytes = build(directory, each, file);
      files.set(file, bytes);
      const hash = createHash('sha256').update(bytes).digest('hex');
      return `${control(each)}Filename: ./${file}\nSize: ${bytes.length}\nSHA256: ${hash}\n`;
    });
    return files.set('Packages', Buffer.from(index.join('\n')));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function build(directory: string, each: LabPackage, file: string): Buffer {
  const root = join(directory, each.name + each.version);
  mkdirSync(join(root, 'DEBIAN'), { recursive: true });
  mkdirSync(join(root, 'opt/lab'), { recursive: true });
  writeFileSync(join(root, 'DEBIAN/control'), control(each));
  if (each.postinst !== undefined)
    writeFileSync(join(root, 'DEBIAN/postinst'), `#!/bin/sh\n${each.postinst}\n`, { mode: 0o755 });
  writeFileSync(join(root, 'opt/lab', each.name), each.version);
  execFileSync('dpkg-deb', ['--root-owner-group', '-Znone', '-b', root, join(directory, file)], { stdio: 'ignore' });
  return readFileSync(join(directory, file));
}

const control = ({ name, version }: LabPackage): string =>
  `Package: ${name}\nVersion: ${version}\nArchitecture: all\nMaintainer: Lab <lab@cluster.example>\nDescription: lab\n`;
