import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { effectiveReader } from '../../../src/objects/effective.ts';
import { filesSynced, messagesOf, noSyncFiles, softwareBegins } from '../../../src/nodes/update/findings.ts';
import { imageOf, listFiles } from '../../../src/objects/node-image.ts';
import { scriptEnvironment } from '../../../src/nodes/update/plan-update.ts';
import { hasScript, parsePostscript, scriptDirectory, scriptsOf } from '../../../src/nodes/update/postscripts.ts';
import { matches } from '../../../src/nodes/update/synclist.ts';
import { snapshotOf } from '../../harness/snapshot.ts';

const directory = mkdtempSync(join(tmpdir(), 'muster-test-'));
afterAll(() => rmSync(directory, { recursive: true }));

const image = { imagename: 'img', imagetype: 'linux', osvers: 'rhels8.6', osarch: 'x86_64', profile: 'compute' };
const reader = effectiveReader(
  snapshotOf({
    nodelist: [
      { node: 'n1', groups: 'all,compute' },
      { node: 's1', groups: 'all,service' },
      { node: 'old', groups: 'all' },
    ],
    nodetype: [
      { node: 'n1', provmethod: 'img' },
      { node: 'old', provmethod: 'netboot', os: 'debian12', arch: 'x86_64', profile: 'login' },
    ],
    noderes: [{ node: 'n1', xcatmaster: '10.0.0.9' }],
    osimage: [
      {
        ...image,
        provmethod: 'install',
        postscripts: 'image1,syslog',
        postbootscripts: 'imageboot',
        environvar: 'COLOUR=blue,APITOKEN,EMPTY=,PATH=/evil,a-b=1,BASH_ENV=/x,SHELLOPTS=xtrace',
      },
    ],
    linuximage: [{ imagename: 'img', pkglist: '/l/a.pkglist,/l/b.pkglist' }],
    postscripts: [
      { node: 'xcatdefaults', postscripts: 'syslog,syncfiles', postbootscripts: 'otherpkgs' },
      { node: 'service', postscripts: 'servicenode' },
      { node: 'compute', postscripts: 'group1' },
      { node: 'n1', postbootscripts: 'own -x "two words"' },
    ],
    site: [
      { key: 'apitoken', value: 'sealed-token' },
      { key: 'snmppassword', value: 'sealed-password' },
      { key: 'master', value: '10.0.0.1' },
      { key: 'domain', value: "a'b\n$(c)" },
      { key: 'path', value: '/evil' },
      { key: 'ld_preload', value: '/evil' },
      { key: 'no-name', value: 'x' },
      { key: 'off', value: 'x', disable: '1' },
      { key: 'installdir', value: join(directory, 'install') },
    ],
  }),
);

describe('the scripts of a node', () => {
  it('are those of all nodes, of the image, its own; then the same after boot; none twice', () => {
    expect(scriptsOf(reader, 'n1').map(({ type, text }) => `${type} ${text}`)).toEqual([
      'postscript syslog',
      'postscript syncfiles',
      'postscript image1',
      'postscript group1',
      'postbootscript otherpkgs',
      'postbootscript imageboot',
      'postbootscript own -x "two words"',
    ]);
  });

  it('of a service node include servicenode', () => {
    expect(scriptsOf(reader, 's1').map(({ name }) => name)).toEqual([
      'syslog',
      'syncfiles',
      'servicenode',
      'otherpkgs',
    ]);
  });
});

it.each([
  ['a', 'a', []],
  ['  a  b ', 'a', ['b']],
  ['a "b c" \'d"e\'', 'a', ['b c', 'd"e']],
  ['a "" x""y', 'a', ['', 'xy']],
  ['a $HOME `x` ; rm', 'a', ['$HOME', '`x`', ';', 'rm']],
])('%j is a script and its arguments', (text, name, args) => {
  expect(parsePostscript(text)).toMatchObject({ name, args });
});

it('a quote that is not closed is refused', () => {
  expect(() => parsePostscript('a "b')).toThrow('not closed');
});

it('the environment has site, node and image, and nothing a shell lives on', () => {
  const { open: environment, sealed } = scriptEnvironment(reader, 'n1');
  expect(sealed).toEqual({ APITOKEN: 'sealed-token' });
  expect(environment).toMatchObject({
    NODE: 'n1',
    GROUP: 'all,compute',
    NTYPE: 'compute',
    OSVER: 'rhels8.6',
    ARCH: 'x86_64',
    PROFILE: 'compute',
    PROVMETHOD: 'img',
    MASTER: '10.0.0.9',
    SITEMASTER: '10.0.0.1',
    DOMAIN: "a'b\n$(c)",
    UPDATENODE: '1',
    COLOUR: 'blue',
    EMPTY: '',
  });
  for (const name of [
    'APITOKEN',
    'SNMPPASSWORD',
    'PATH',
    'LD_PRELOAD',
    'BASH_ENV',
    'SHELLOPTS',
    'NO-NAME',
    'a-b',
    'OFF',
  ])
    expect(environment).not.toHaveProperty(name);
  expect(scriptEnvironment(reader, 's1').open).toMatchObject({ NTYPE: 'service', MASTER: '10.0.0.1', OSVER: '' });
});

describe('the directory of scripts', () => {
  const has = (name: string): boolean => hasScript(scriptDirectory(join(directory, 'scripts')), name);
  it('has the files below it and nothing else', () => {
    expect(has('a')).toBe(false);
    mkdirSync(join(directory, 'scripts/sub'), { recursive: true });
    for (const name of ['scripts/a', 'scripts/sub/b', 'outside']) writeFileSync(join(directory, name), '');
    symlinkSync('../outside', join(directory, 'scripts/link'));
    symlinkSync('a', join(directory, 'scripts/inner'));
    expect(['a', 'sub/b', 'inner', './a'].map(has)).toEqual([true, true, true, true]);
    const others = ['', 'sub', 'none', '../outside', 'link', '/etc/passwd', 'a\0', '.', '..'];
    expect(others.filter(has)).toEqual([]);
  });

  it('is nothing that can be sent if it is a file', () => {
    expect(scriptDirectory(join(directory, 'outside'))).toBeUndefined();
  });
});

describe('lists of an image', () => {
  it('are those it names', () => {
    expect(listFiles(reader, imageOf(reader, 'n1'), 'pkglist', 'pkglist')).toEqual(['/l/a.pkglist', '/l/b.pkglist']);
  });

  it('or what lies where the reference system looks, the most special first', () => {
    const at = join(directory, 'install/custom/install/rh');
    mkdirSync(at, { recursive: true });
    const found = () => listFiles(reader, imageOf(reader, 'n1'), 'synclists', 'synclist');
    expect(found()).toEqual([]);
    for (const name of ['compute', 'compute.x86_64', 'compute.rhels8.6', 'compute.rhels8.6.x86_64']) {
      writeFileSync(join(at, `${name}.synclist`), '');
      expect(found()).toEqual([join(at, `${name}.synclist`)]);
    }
    const other = join(directory, 'install/custom/netboot/debian/login.synclist');
    mkdirSync(join(other, '..'), { recursive: true });
    writeFileSync(other, '');
    expect(listFiles(reader, imageOf(reader, 'old'), 'synclists', 'synclist')).toEqual([other]);
  });
});

it.each([
  ['a.conf', '*.conf', true],
  ['a.conf', '?.conf', true],
  ['ab.conf', '?.conf', false],
  ['', '*', true],
  ['abc', 'a*c*', true],
  ['abcb', 'a*c', false],
  ['a+b(c)', 'a+b(*', true],
  ['a\nb', 'a*b', true],
  ['a'.repeat(200), `${'*a'.repeat(60)}b`, false],
])('%j matches %j: %s', (name, pattern, expected) => {
  expect(matches(name, pattern)).toBe(expected);
});

it('lines of nodes become one list: what many have in common once, the rest by node', () => {
  const lines = new Map([
    ['n2', [filesSynced, softwareBegins, 'x']],
    ['n1', [filesSynced, softwareBegins, 'y', 'z']],
    ['n3', [noSyncFiles]],
  ]);
  expect(messagesOf(lines)).toEqual([
    'File synchronization has completed for nodes: "n1,n2"',
    'Performing software maintenance operations. This could take a while, if there are packages to install.',
    'n1: y',
    'n1: z',
    'n2: x',
    `n3: ${noSyncFiles}`,
  ]);
  expect(messagesOf(new Map([['n1', [noSyncFiles]]]))).toEqual([noSyncFiles]);
});
