import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LabPackage } from './packages.ts';

/**
 * The files of a repository for dnf and zypper, by name. A package of it installs `/opt/lab/NAME`, whose content is the version;
 * groups are made of its packages.
 */
export function makeRpmRepository(
  packages: readonly LabPackage[],
  groups: Readonly<Record<string, readonly string[]>> = {},
): Map<string, Buffer> {
  const directory = mkdtempSync(join(tmpdir(), 'muster-rpms-'));
  try {
    const made = join(directory, 'repository');
    mkdirSync(made);
    for (const [index, each] of packages.entries()) build(directory, made, each, index);
    const comps = join(directory, 'comps.xml');
    writeFileSync(comps, compsOf(groups));
    execFileSync('createrepo_c', ['-q', '-g', comps, made], { stdio: 'ignore' });
    const names = readdirSync(made, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = names.map(({ parentPath, name }) => join(parentPath, name));
    return new Map(paths.map((path) => [path.slice(made.length + 1), readFileSync(path)]));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function build(directory: string, made: string, { name, version, postinst }: LabPackage, index: number): void {
  const spec = join(directory, `${index}.spec`);
  // What Debian has installed is unknown to RPM, also the shell that scripts need.
  const [provides, post] = postinst === undefined ? ['', ''] : ['Provides: /bin/sh', `%post\n${postinst}`];
  const text = `Name: ${name}
Version: ${version}
Release: 1
Summary: lab
License: none
BuildArch: noarch
${provides}
%description
lab
%install
mkdir -p %{buildroot}/opt/lab
printf %%s ${version} > %{buildroot}/opt/lab/${name}
${post}
%files
/opt/lab/${name}
`;
  writeFileSync(spec, text);
  const defined = { _topdir: join(directory, 'top'), _rpmdir: made, _dbpath: join(directory, 'db') };
  const definitions = Object.entries(defined).flatMap(([macro, value]) => ['--define', `${macro} ${value}`]);
  execFileSync('rpmbuild', ['-bb', ...definitions, spec], { stdio: 'ignore' });
}

function compsOf(groups: Readonly<Record<string, readonly string[]>>): string {
  const each = Object.entries(groups).map(([name, packages]) => {
    const wanted = packages.map((member) => `<packagereq type="mandatory">${member}</packagereq>`).join('');
    return `<group><id>${name}</id><name>${name}</name><packagelist>${wanted}</packagelist></group>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<comps>${each.join('')}</comps>\n`;
}

/** The files of a repository that has nothing but a pattern for zypper, which brings packages of other repositories. */
export function makePatternRepository(name: string, packages: readonly string[]): Map<string, Buffer> {
  const descriptions = {
    packages: '=Ver: 2.0\n',
    patterns: `${name}.pat\n`,
    [`${name}.pat`]: `=Ver: 5.0\n=Pat: ${name} 1.0 1 noarch\n=Cat: lab\n=Sum: lab\n=Vis: true\n+Prq:\n${packages.join('\n')}\n-Prq:\n`,
  };
  const head = 'PRODUCT lab\nVERSION 1.0\nCONTENTSTYLE 11\nDESCRDIR suse/setup/descr\nDATADIR suse\n';
  const hashes = Object.entries(descriptions).map(
    ([file, text]) => `META SHA256 ${createHash('sha256').update(text).digest('hex')}  ${file}\n`,
  );
  const files = {
    content: head + hashes.join(''),
    'media.1/media': 'lab\n20200101\n1\n',
    ...Object.fromEntries(Object.entries(descriptions).map(([file, text]) => [`suse/setup/descr/${file}`, text])),
  };
  return new Map(Object.entries(files).map(([file, text]) => [file, Buffer.from(text)]));
}
