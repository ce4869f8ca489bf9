import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Draft } from '../../../src/database/draft.ts';
import type { Row } from '../../../src/database/tables.ts';
import type { MediumMade } from '../../../src/images/media/copy-medium.ts';
import { defineImages } from '../../../src/images/media/define-images.ts';
import { imagesFor } from '../../../src/images/media/images-made.ts';
import { optionWords } from '../../../src/images/media/medium-place.ts';
import type { Release } from '../../../src/images/media/medium.ts';
import { shippedImageFiles } from '../../../src/core/home.ts';
import { snapshotOf } from '../../harness/snapshot.ts';
import { scratchDirectory } from '../../harness/store.ts';

const installdir = scratchDirectory();
afterAll(() => rmSync(installdir, { recursive: true }));

const rocky: Release = { family: 'redhat', base: 'rocky', version: '9.6', arch: 'x86_64', disc: 1 };
const tree = join(installdir, 'rocky9.6/x86_64');
const basis = { release: rocky, os: 'rocky9.6', installdir, directories: [tree], own: undefined };
const shipped = (path: string): string => join(shippedImageFiles, 'redhat', path);

const common = {
  imagetype: 'linux',
  osname: 'Linux',
  osvers: 'rocky9.6',
  osarch: 'x86_64',
  osdistroname: 'rocky9.6-x86_64',
  pkgdir: tree,
  otherpkgdir: join(installdir, 'post/otherpkgs/rocky9.6/x86_64'),
};
const diskless = {
  ...common,
  profile: 'compute',
  rootimgdir: join(installdir, 'netboot/rocky9.6/x86_64/compute'),
  pkglist: shipped('netboot/compute.redhat.pkglist'),
  exlist: shipped('netboot/compute.redhat.exlist'),
};

test('the images of a medium have the names and attributes of the reference system', () => {
  expect(imagesFor(basis)).toEqual([
    {
      name: 'rocky9.6-x86_64-install-compute',
      attributes: {
        ...common,
        profile: 'compute',
        provmethod: 'install',
        template: shipped('install/compute.redhat.tmpl'),
        pkglist: shipped('install/compute.redhat.pkglist'),
      },
    },
    { name: 'rocky9.6-x86_64-netboot-compute', attributes: { ...diskless, provmethod: 'netboot' } },
    {
      name: 'rocky9.6-x86_64-statelite-compute',
      attributes: {
        ...diskless,
        provmethod: 'statelite',
        rootimgdir: join(installdir, 'statelite/rocky9.6/x86_64/compute'),
      },
    },
  ]);
});

test('the machine that runs what is on the medium has an image too', () => {
  expect(imagesFor({ ...basis, own: 'rocky9.6-x86_64' }).at(-1)).toMatchObject({
    name: 'rocky9.6-x86_64-stateful-mgmtnode',
    attributes: { provmethod: 'install', osvers: 'rocky9.6' },
  });
});

test.each([
  ['debian12.12', 'debian', 'aarch64', 'compute.debian.aarch64.pkglist'],
  ['ubuntu24.04.3', 'ubuntu', 'x86_64', 'compute.ubuntu.pkglist'],
  ['sles15.6', 'suse', 'x86_64', 'compute.suse.pkglist'],
  ['leap15.6', 'suse', 'x86_64', 'compute.suse.pkglist'],
  ['centos-stream9', 'redhat', 'x86_64', 'compute.redhat.pkglist'],
] as const)('%s has lists and a template that come with muster', (os, family, arch, file) => {
  const images = imagesFor({ ...basis, os, release: { ...rocky, family, arch } });
  expect(images[0]!.attributes['template']).toBe(join(shippedImageFiles, family, `install/compute.${family}.tmpl`));
  expect(images[1]!.attributes['pkglist']).toBe(join(shippedImageFiles, family, 'netboot', file));
});

test('lists of the administrator go before, and the name that says most before others', () => {
  const custom = join(installdir, 'custom/netboot/rocky');
  mkdirSync(custom, { recursive: true });
  const chosen = (): string | undefined => imagesFor(basis)[1]!.attributes['pkglist'];
  const names = [
    'compute',
    'compute.x86_64',
    'compute.rocky',
    'compute.rocky9.x86_64',
    'compute.rocky9.6',
    'compute.rocky9.6.x86_64',
  ];
  for (const name of names) {
    writeFileSync(join(custom, `${name}.pkglist`), '');
    expect(chosen()).toBe(join(custom, `${name}.pkglist`));
  }
});

test('service nodes have an image where there is a template for them', () => {
  const custom = join(installdir, 'custom/install/rocky');
  mkdirSync(custom, { recursive: true });
  writeFileSync(join(custom, 'service.tmpl'), '');
  expect(imagesFor(basis)[1]).toMatchObject({
    name: 'rocky9.6-x86_64-install-service',
    attributes: { profile: 'service', template: join(custom, 'service.tmpl'), postscripts: 'servicenode' },
  });
});

const made = (given: Partial<MediumMade> = {}): MediumMade => ({
  inspected: false,
  os: 'rocky9.6',
  release: rocky,
  directories: [tree],
  images: imagesFor(basis),
  messages: [],
  ...given,
});

function defined(rows: Readonly<Record<string, readonly Row[]>>, what = made()) {
  const draft = new Draft(snapshotOf(rows));
  defineImages(draft, what, {});
  return draft;
}

test('the operating system and its images are defined', () => {
  const draft = defined({});
  expect(draft.get('osdistro', 'rocky9.6-x86_64')).toEqual({
    osdistroname: 'rocky9.6-x86_64',
    basename: 'rocky',
    majorversion: '9',
    minorversion: '6',
    arch: 'x86_64',
    type: 'Linux',
    dirpaths: tree,
  });
  expect(draft.get('linuximage', 'rocky9.6-x86_64-netboot-compute')).toMatchObject({
    addkcmdline: 'quiet',
    pkgdir: tree,
  });
  expect(draft.get('osimage', 'rocky9.6-x86_64-install-compute')).toMatchObject({ provmethod: 'install' });
});

test('defined again, nothing changes', () => {
  const before = defined({}).snapshot();
  const draft = new Draft(before);
  defineImages(draft, made(), {});
  expect(draft.changes()).toEqual([]);
});

test('what exists gets the attributes of the medium again and keeps all others', () => {
  const imagename = 'rocky9.6-x86_64-netboot-compute';
  const draft = defined({
    osimage: [{ imagename, imagetype: 'linux', synclists: '/install/mine', osvers: 'other' }],
    linuximage: [{ imagename, addkcmdline: 'console=ttyS0', pkgdir: '/old' }],
    osdistro: [{ osdistroname: 'rocky9.6-x86_64', dirpaths: '/elsewhere' }],
  });
  expect(draft.get('osimage', imagename)).toMatchObject({ synclists: '/install/mine', osvers: 'rocky9.6' });
  expect(draft.get('linuximage', imagename)).toMatchObject({ addkcmdline: 'console=ttyS0', pkgdir: tree });
  expect(draft.get('osdistro', 'rocky9.6-x86_64')).toMatchObject({ dirpaths: `/elsewhere,${tree}` });
});

test('options stand in the audit log as the reference system writes them', () => {
  expect(optionWords({ path: '/install/x', nonoverwrite: true, noosimage: false })).toEqual(['-p', '/install/x', '-w']);
});
