import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fatImage } from '../../src/boot/media/fat-image.ts';
import { isoImage, type Pieces } from '../../src/boot/media/iso-image.ts';
import { temporaryDirectory } from '../harness/server.ts';

const directory = temporaryDirectory();
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const made = new Date('2026-11-19T01:02:03Z');
const place = (name: string, bytes: Buffer): string => {
  const path = join(directory, name);
  writeFileSync(path, bytes);
  return path;
};
const bytesOf = ({ pieces }: Pieces): Buffer =>
  Buffer.concat(pieces.map((piece) => (Buffer.isBuffer(piece) ? piece : readFileSync(piece.path))));
const run = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { cwd: directory, encoding: 'latin1', stdio: ['ignore', 'pipe', 'pipe'] });

describe('the FAT file system of a medium', () => {
  it.each([[100], [3_000_000]])('has loaders of %i bytes where UEFI looks for them, as mtools read it', (size) => {
    const [shim, grub] = [randomBytes(size), randomBytes(size * 2)];
    const image = place(
      'efi.img',
      fatImage([
        { name: 'BOOTX64.EFI', bytes: shim },
        { name: 'GRUBX64.EFI', bytes: grub },
      ]),
    );
    for (const [name, bytes] of [
      ['BOOTX64.EFI', shim],
      ['GRUBX64.EFI', grub],
    ] as const) {
      const copy = join(directory, name);
      run('mcopy', '-n', '-o', '-i', image, `::EFI/BOOT/${name}`, copy);
      expect(readFileSync(copy).equals(bytes)).toBe(true);
    }
    expect(run('minfo', '-i', image, '::')).toContain('FAT16');
  });
});

describe('the image of a medium', () => {
  it('has files and what UEFI starts, as xorriso reads it', () => {
    const efi = fatImage([{ name: 'BOOTX64.EFI', bytes: randomBytes(900_000) }]);
    const kernel = randomBytes(70_001);
    const initrd = randomBytes(4_096);
    const file = (name: string, bytes: Buffer) => ({ path: place(name, bytes), size: bytes.length });
    const script = Buffer.from('linux /vmlinuz quiet\n');
    const image = isoImage(
      [
        { path: '.DISK/INFO', content: Buffer.from('muster\n') },
        { path: 'BOOT/GRUB/GRUB.CFG', content: script },
        { path: 'VMLINUZ', content: file('kernel', kernel) },
        { path: 'INITRD', content: file('initrd', initrd) },
      ],
      efi,
      made,
    );
    const bytes = bytesOf(image);
    expect(bytes).toHaveLength(image.size);
    const iso = place('medium.iso', bytes);
    const report = run('xorriso', '-indev', iso, '-report_el_torito', 'plain');
    expect(report).toMatch(/El Torito boot img :\s+1\s+UEFI\s+y/);
    const out = join(directory, 'out');
    mkdirSync(out);
    run('xorriso', '-osirrox', 'on', '-indev', iso, '-extract', '/', out);
    // Directories come without the right to write into them.
    run('chmod', '-R', 'u+rwx', out);
    const found = run('find', out, '-type', 'f').trim().split('\n').sort();
    expect(found.map((path) => path.slice(out.length + 1).toLowerCase())).toEqual([
      '.disk/info',
      'boot/grub/grub.cfg',
      'initrd',
      'vmlinuz',
    ]);
    const [info, cfg, second, first] = found.map((path) => readFileSync(path)) as [Buffer, Buffer, Buffer, Buffer];
    expect([info.toString(), cfg.equals(script), first.equals(kernel), second.equals(initrd)]).toEqual([
      'muster\n',
      true,
      true,
      true,
    ]);
    // What El Torito names is the file system, byte for byte.
    const at = bytes.readUInt32LE(bytes.readUInt32LE(17 * 2_048 + 71) * 2_048 + 40) * 2_048;
    expect(bytes.subarray(at, at + efi.length).equals(efi)).toBe(true);
  });
});
