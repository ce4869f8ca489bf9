import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../client-errors.ts';
import { told } from '../familiar.ts';
import type { CliCommand, CommandEntry } from '../invocation.ts';
import { asksHelp } from '../nodes/range-words.ts';
import { commands } from './index.ts';

const usage = `Usage: muster manpages DIR

Writes a page of the manual for each command to DIR/man1; with DIR in MANPATH "man rpower" finds them.`;

export const command: CliCommand = {
  usage,
  async run({ argv, stdout }) {
    if (argv.some(asksHelp)) return told({ stdout }, usage);
    const [directory, ...more] = argv;
    if (directory === undefined || more.length > 0) throw new UsageError('Name one directory.');
    const pages = join(directory, 'man1');
    mkdirSync(pages, { recursive: true });
    for (const [name, entry] of Object.entries(commands)) {
      const title = entry.own ? `muster-${name}` : name;
      writeFileSync(join(pages, `${title}.1`), page(title, entry, (await entry.load()).command.usage));
    }
    return told({ stdout }, `${Object.keys(commands).length} pages have been written to ${pages}.`);
  },
};

/** A backslash, a dash, and a dot or quote at the beginning of a line mean something to roff. */
const escaped = (text: string): string =>
  text
    .replaceAll('\\', String.raw`\e`)
    .replaceAll('-', String.raw`\-`)
    .replaceAll(/^([.'])/gm, String.raw`\&$1`);

const page = (name: string, { summary }: CommandEntry, help: string): string =>
  [
    `.TH ${escaped(name.toUpperCase())} 1 "" muster "Cluster management"`,
    '.SH NAME',
    `${escaped(name)} \\- ${escaped(summary)}`,
    '.SH DESCRIPTION',
    '.nf',
    escaped(help),
    '.fi',
    '',
  ].join('\n');
