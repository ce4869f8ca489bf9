import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { packageCommand } from '../../../src/nodes/update/software.ts';
import { type PackageStep, readPackageLists } from '../../../src/nodes/update/package-list.ts';

const read = (files: Record<string, string>, ...paths: string[]): Promise<PackageStep[]> =>
  readPackageLists(paths, async (path) => {
    const text = files[path];
    if (text === undefined) throw new Error(`no ${path}`);
    return text;
  });

const step = (more: Partial<PackageStep>): PackageStep => ({
  removeBefore: [],
  install: [],
  removeAfter: [],
  environment: {},
  ...more,
});

describe('a package list', () => {
  it.each<[string, PackageStep[]]>([
    ['', []],
    ['# nothing\n\n', []],
    ['vim\n  curl  \r\n', [step({ install: ['vim', 'curl'] })]],
    ['vim, curl', [step({ install: ['vim', 'curl'] })]],
    ['-nano\nvim\n--joe', [step({ removeBefore: ['nano'], install: ['vim'], removeAfter: ['joe'] })]],
    [
      '@base\nlibc6:amd64\ng++=4:12.2\nrpms/x/foo-1.2',
      [step({ install: ['@base', 'libc6:amd64', 'g++=4:12.2', 'rpms/x/foo-1.2'] })],
    ],
    ['@ X Window System\n@  base\nvim', [step({ install: ['@X Window System', '@base', 'vim'] })]],
    ['@base @core', [step({ install: ['@base', '@core'] })]],
    ['@^minimal-environment', [step({ install: ['@^minimal-environment'] })]],
    ['a\n#NEW_INSTALL_LIST#\nb', [step({ install: ['a'] }), step({ install: ['b'] })]],
    ['#ENV:LIC=yes it is#\na', [step({ install: ['a'], environment: { LIC: 'yes it is' } })]],
  ])('%j', async (text, expected) => {
    expect(await read({ '/l': text }, '/l')).toEqual(expected);
  });

  it('includes others, by full path or from beside it, and is read with its neighbours', async () => {
    const files = { '/d/l': 'a\n#INCLUDE:more#\nb', '/d/more': 'm\n#INCLUDE:/e/x#', '/e/x': 'x', '/k': 'k' };
    expect(await read(files, '/d/l', '/k')).toEqual([step({ install: ['a', 'm', 'x', 'b', 'k'] })]);
  });

  it('that includes itself is refused', async () => {
    await expect(read({ '/a': '#INCLUDE:/b#', '/b': '#INCLUDE:/a#' }, '/a')).rejects.toThrow('includes it again');
  });

  it.each([
    '$(reboot)',
    'a;b',
    "'x'",
    '`x`',
    '---force',
    '@',
    'a|b',
    '../x',
    '*',
    '@ $(x)',
    '@ a;b',
    '@ -x',
    '@^',
    '^x',
  ])('refuses %j as a name', async (name) => {
    await expect(read({ '/l': `ok\n${name}` }, '/l')).rejects.toThrow('/l, line 2');
  });

  it.each(['-@tools', '--@tools', '-@ tools'])('refuses to remove a group, %s', async (word) => {
    await expect(read({ '/l': word }, '/l')).rejects.toThrow('/l, line 1: @tools is a group; name the packages');
  });
});

describe('the command for', () => {
  const steps = [
    step({ removeBefore: ['old'], install: ['@base', 'vim'], environment: { A: "it's" } }),
    step({ install: ['late'], removeAfter: ['gone'] }),
  ];
  const words = (name: Parameters<typeof packageCommand>[0]): string => packageCommand(name, steps).replaceAll("'", '');

  it.each([
    ['dnf', 'dnf -y install -- @base vim', 'dnf -y remove -- "$p"', 'rpm -q "$p"'],
    ['yum', 'yum -y install -- @base vim', 'yum -y remove -- "$p"', 'rpm -q "$p"'],
    [
      'zypper',
      'zypper --non-interactive install -- pattern:base vim',
      'zypper --non-interactive remove -- "$p"',
      'rpm -q "$p"',
    ],
    ['apt-get', 'install -- base^ vim', 'apt-get -q -y remove -- "$p"', 'dpkg -s "$p"'],
  ] as const)('%s', (name, install, remove, installed) => {
    const command = words(name);
    for (const part of [install, remove, installed, 'install -- late']) expect(command).toContain(part);
    expect(command.indexOf('for p in old')).toBeLessThan(command.indexOf(install));
    expect(command.indexOf('install -- late')).toBeLessThan(command.indexOf('for p in gone'));
  });

  it('dnf names a group of several words as one', () => {
    const command = packageCommand('dnf', [step({ install: ['@X Window System', '@^minimal-environment'] })]);
    expect(command).toContain(`'@X Window System' '@^minimal-environment'`);
  });

  it.each([
    ['zypper', 0, 0],
    ['zypper', 102, 0],
    ['zypper', 103, 0],
    ['zypper', 104, 104],
    ['dnf', 102, 102],
  ] as const)('%s, which ends with %i, ends with %i', (name, code, expected) => {
    const stub = `${name}() { case "$*" in *install*) return ${code};; esac; }; `;
    const command = packageCommand(name, [step({ install: ['a'] })]).replaceAll(`'${name}'`, name);
    expect(spawnSync('sh', ['-c', stub + command]).status).toBe(expected);
  });
});
