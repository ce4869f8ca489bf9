import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type BootEntry,
  bootFiles,
  type BootFiles,
  type BootMethod,
  ipv4Number,
  type Load,
} from '../../src/boot/scripts/reference.ts';

interface Case {
  readonly method: BootMethod;
  readonly arch: string;
  readonly state: string;
  readonly files: Readonly<Record<string, string>>;
}

const { cases } = JSON.parse(readFileSync(join(import.meta.dirname, '../data/bootfile-cases.json'), 'utf8')) as {
  cases: Case[];
};

const load: Load = {
  kernel: 'xcat/osimage/img1/vmlinuz',
  initrd: 'xcat/osimage/img1/initrd.img',
  args: 'quiet inst.repo=http://!myipfn!:80/install/x inst.ks=http://!myipfn!:80/install/autoinst/n1',
  added: ['debug R::keep=1', 'imgarg'],
  efiStub: false,
};
const entry: BootEntry = {
  node: 'n1',
  state: 'install rhels9-x86_64-compute',
  arch: 'x86_64',
  ip: '10.0.0.5',
  mac: '0A:0B:0C:0D:0E:0F',
  server: '10.0.0.254',
  httpPort: 80,
  tftpDirectory: '/tftpboot',
  load,
};

/** As the cases write files and links. */
const written = (files: BootFiles, directory: string): Record<string, string> =>
  Object.fromEntries(
    [...files].map(([path, file]) => [
      `T/${path}`,
      'link' in file
        ? `symlink -> ${file.link}`
        : file.text.replaceAll(directory, directory === '/T' ? '<T>' : directory),
    ]),
  );

describe('files of the reference system', () => {
  it.each(cases.filter(({ state }) => state !== 'offline'))('$method, $state', ({ method, arch, state, files }) => {
    // The recorded node of PXE has another name.
    const own = method === 'pxe' ? { node: 'localhost', ip: '127.0.0.1' } : {};
    // Some name the directory, others the place where it usually is.
    const tftpDirectory = method === 'xnba' ? '/tftpboot' : '/T';
    const boots = state === 'boot' ? { load: undefined } : {};
    expect(
      written(bootFiles(method, { ...entry, ...own, ...boots, arch, state, tftpDirectory }), tftpDirectory),
    ).toEqual(files);
  });
});

it('firmware starts a kernel that it can start itself', () => {
  const files = bootFiles('xnba', { ...entry, load: { ...load, efiStub: true } });
  expect([...files.keys()]).toEqual(['xcat/xnba/nodes/n1', 'xcat/xnba/nodes/n1.uefi']);
  expect(files.get('xcat/xnba/nodes/n1.uefi')).toMatchObject({
    text: expect.stringMatching(/^imgargs kernel quiet .* BOOTIF=01-\$\{netX\/mac:hexhyp\} initrd=initrd$/m),
  });
});

it('a node without an address has its files by name and MAC', () => {
  const files = bootFiles('grub2', { ...entry, ip: undefined });
  expect([...files.keys()].sort()).toEqual([
    'boot/grub2/grub.cfg-01-0a-0b-0c-0d-0e-0f',
    'boot/grub2/grub2-n1',
    'boot/grub2/n1',
  ]);
});

it('the language of GRUB finds nothing of its own in arguments', () => {
  const files = bootFiles('grub2', { ...entry, load: { ...load, added: ["a=$x b='c' d=#e f=(g)"] } });
  expect(files.get('boot/grub2/n1')).toMatchObject({
    text: expect.stringContaining(String.raw` 'a=$x' 'b='\''c'\''' 'd=#e' f=(g)  BOOTIF=$net_default_mac`),
  });
});

it.each(['a\nboot', 'a\u0000', 'a" b', 'a && shell', 'a || b', 'x ; y', 'ä'])(
  'refuses kernel arguments with %j',
  (added) => {
    expect(() => bootFiles('xnba', { ...entry, load: { ...load, added: [added] } })).toThrow(
      /n1: the kernel arguments have/,
    );
  },
);

it.each([
  ['10.0.0.5', '0A000005'],
  ['255.255.255.255', 'FFFFFFFF'],
  ['fe80::1', undefined],
  ['10.0.0', undefined],
  ['10.0.0.256', undefined],
])('the number of %s', (address, number) => {
  expect(ipv4Number(address)).toBe(number);
});
