import { lstatSync, mkdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { home } from '../../core/home.ts';
import { type CommandEntry, musterCommand, say } from '../command.ts';
import { commands } from './index.ts';

export const help = musterCommand({
  usage: `Usage: muster help [COMMAND]

Lists all commands, or shows the help of one.`,
  operands: [0, 1, 'Name one command.'],
  async run({ stdout, stderr }, { operands: [name] }) {
    if (name !== undefined) {
      const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
      if (entry) stdout.line((await entry.load()).usage);
      else stderr.line(`muster: There is no command "${name}".`);
      return entry ? 0 : 2;
    }
    const names = Object.keys(commands).sort();
    const width = Math.max(...names.map((each) => each.length));
    stdout.line('Usage: muster COMMAND [ARGUMENTS], or the command alone where "muster links DIR" has made links.\n');
    for (const each of names) stdout.line(`  ${each.padEnd(width)}  ${commands[each]!.summary}`);
    return 0;
  },
});

export const manpages = musterCommand({
  usage: `Usage: muster manpages DIR

Writes a page of the manual for each command to DIR/man1; with DIR in MANPATH "man rpower" finds them.`,
  operands: [1, 1, 'Name one directory.'],
  async run(invocation, { operands: [directory = ''] }) {
    const pages = join(directory, 'man1');
    mkdirSync(pages, { recursive: true });
    for (const [name, entry] of Object.entries(commands)) {
      const title = entry.isMuster ? `muster-${name}` : name;
      writeFileSync(join(pages, `${title}.1`), page(title, entry, (await entry.load()).usage));
    }
    return say(invocation, `${Object.keys(commands).length} pages have been written to ${pages}.`);
  },
});

/** A backslash, a dash, and a dot or quote at the beginning of a line mean something to roff. */
const escaped = (text: string): string =>
  text
    .replaceAll('\\', String.raw`\e`)
    .replaceAll('-', String.raw`\-`)
    .replaceAll(/^([.'])/gm, String.raw`\&$1`);

const page = (name: string, { summary }: CommandEntry, text: string): string =>
  [
    `.TH ${escaped(name.toUpperCase())} 1 "" muster "Cluster management"`,
    '.SH NAME',
    `${escaped(name)} \\- ${escaped(summary)}`,
    '.SH DESCRIPTION',
    '.nf',
    escaped(text),
    '.fi',
    '',
  ].join('\n');

const program = join(home, 'bin/muster');

export const links = musterCommand({
  usage: `Usage: muster links DIR

Makes a link in DIR for each command that xCAT has too, so that "rpower n1 on" is "muster rpower n1 on". It does not replace existing
files, and names them. Put DIR into PATH.`,
  operands: [1, 1, 'Name one directory.'],
  run({ stdout, stderr }, { operands: [directory = ''] }) {
    mkdirSync(directory, { recursive: true });
    let made = 0;
    let refused = 0;
    for (const [name, { isMuster }] of Object.entries(commands)) {
      if (isMuster) continue;
      const file = join(directory, name);
      const there = whatIs(file);
      if (there === program) continue;
      if (there === undefined) {
        symlinkSync(program, file);
        made += 1;
      } else {
        stderr.line(`muster links: ${file} is there already and stays as it is.`);
        refused += 1;
      }
    }
    stdout.line(`${made} links have been made in ${directory}.`);
    return refused > 0 ? 1 : 0;
  },
});

/** Where a link leads to; an empty text for what is none; undefined where there is nothing. */
function whatIs(file: string): string | undefined {
  try {
    return lstatSync(file).isSymbolicLink() ? readlinkSync(file) : '';
  } catch {
    return undefined;
  }
}
