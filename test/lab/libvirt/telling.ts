import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { LibvirtLab } from '../libvirt.ts';

const run = promisify(execFile);
const source = join(import.meta.dirname, 'telling');

/** Places that the boot sector and the linker agree on. */
const linking = ['-m,elf_i386', '-Ttext=0x7c00', '--oformat=binary', '-e,boot', '--build-id=none', '-z,noexecstack'];
/** The guests are PCs on every machine. */
const compiler = process.arch === 'arm64' ? 'i686-linux-gnu-gcc' : 'gcc';
const plain = ['-ffreestanding', '-fno-pic', '-fno-stack-protector', '-fno-asynchronous-unwind-tables'];

/** A raw disk of 1 MiB with a guest that tells what it has, see telling/guest.c. */
async function makeTellingDisk(file: string): Promise<void> {
  const words = ['-m32', '-march=i686', '-Os', '-mgeneral-regs-only', '-nostdlib', '-static', ...plain];
  const linker = linking.map((word) => `-Wl,${word}`);
  await run(compiler, [...words, ...linker, '-o', file, join(source, 'boot.S'), join(source, 'guest.c')]);
  await truncate(file, 1 << 20);
}

/** Puts the first disk of a machine that has virtio disks in its place, with that guest. */
export async function placeTellingDisk(lab: LibvirtLab, machine: string, directory = lab.images): Promise<void> {
  const raw = join(lab.directory, 'telling.img');
  if (!existsSync(raw)) await makeTellingDisk(raw);
  await run('qemu-img', ['convert', '-O', 'qcow2', raw, join(directory, `${machine}.vda.qcow2`)]);
}

export interface Told {
  readonly mem: string;
  readonly cpus: string;
  /** The first four bytes on each, in hexadecimal, and its size. */
  readonly disks: readonly string[];
}

const stateLine = /STATE mem=(\S+) cpus=(\S+) disks=(\S*)\n/g;

/** Asks a guest on its console what it has; `mark` is written to its last disk before. */
export async function askGuest(lab: LibvirtLab, machine: string, mark = ''): Promise<Told> {
  const terminal = await lab.virsh('ttyconsole', machine);
  const reader = spawn('cat', [terminal], { stdio: ['ignore', 'pipe', 'ignore'] });
  let heard = '';
  reader.stdout.setEncoding('latin1').on('data', (text: string) => (heard += text));
  const ask = async (text: string, isEnough: (told: Told) => boolean): Promise<Told> => {
    for (;;) {
      const last = [...heard.matchAll(stateLine)].at(-1);
      if (last && isEnough(toldIn(last))) return toldIn(last);
      // An emulator says and hears nothing until it has noticed that somebody listens.
      await writeFile(terminal, `${text}\n`);
      await pause(100);
    }
  };
  try {
    const now = await ask('', () => true);
    return mark === '' ? now : await ask(mark, ({ disks }) => disks.at(-1)!.startsWith(marked(mark)));
  } finally {
    reader.kill('SIGKILL');
  }
}

export const marked = (mark: string): string => Buffer.from(mark.padEnd(4, '\0').slice(0, 4)).toString('hex');

const toldIn = ([, mem, cpus, disks]: RegExpExecArray): Told => ({
  mem: mem!,
  cpus: cpus!,
  disks: disks === '' ? [] : disks!.split(','),
});
