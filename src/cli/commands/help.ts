import { lstatSync, mkdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { home } from '../../core/home.ts';
import { suggestion } from '../../core/nearest.ts';
import { type CommandEntry, type Invocation, musterCommand, say } from '../command.ts';
import { UsageError } from '../errors.ts';
import { valued } from '../options.ts';
import { absentCommands } from './absent-commands.ts';
import { commands } from './index.ts';

export const help = musterCommand({
  usage: `Usage: muster help [COMMAND]
       muster help TOPIC
       muster help --page PAGE

Lists all commands and the pages of the manual, or shows the help of a command. TOPIC is a page of the manual, or a word: then it
shows the section with that word in its title, or lists the sections if there are several.`,
  options: { page: valued('PAGE', 'the page of the manual, also if a command has the same name') },
  operands: [0, 1, 'Name one command, or one topic.'],
  async run(invocation, call) {
    const page = call.value('page');
    const [word] = call.operands;
    if (page !== undefined && word !== undefined) throw new UsageError('Name a page or a topic, not both.');
    if (page !== undefined) return showTopic(invocation, page);
    if (word === undefined) return say(invocation, await overview());
    const entry = Object.hasOwn(commands, word) ? commands[word] : undefined;
    return entry ? say(invocation, (await entry.load()).usage) : showTopic(invocation, word);
  },
});

/** Those of xCAT's that only say what to use instead. */
const isAbsent = (name: string): boolean => Object.hasOwn(absentCommands, name);

async function overview(): Promise<string> {
  const { manualPages } = await import('../muster/manual.ts');
  const names = Object.keys(commands)
    .filter((name) => !isAbsent(name))
    .sort();
  const width = Math.max(...names.map((each) => each.length));
  const listed = (name: string, what: string): string => `  ${name.padEnd(width)}  ${what}`;
  return [
    'Usage: muster COMMAND [ARGUMENTS], or the command alone where "muster links DIR" has made links.\n',
    ...names.map((name) => listed(name, commands[name]!.summary)),
    `\n${Object.keys(absentCommands).length} other commands of xCAT say what to use instead.`,
    'Commands of the server itself, such as serve, backup and worker: muster --help.',
    '\nPages of the manual, which "muster help --page PAGE" shows:\n',
    ...manualPages().map(({ name, title }) => listed(name, title)),
    '\nmuster help COMMAND shows the options of a command.',
  ].join('\n');
}

async function showTopic(invocation: Invocation, word: string): Promise<number> {
  const { manualPages, plainText, sectionsAbout } = await import('../muster/manual.ts');
  const pages = manualPages();
  const page = pages.find(({ name }) => name === word);
  if (page) return say(invocation, plainText(page.text));
  const sections = sectionsAbout(word);
  if (sections.length === 1) return say(invocation, plainText(sections[0]!.text));
  if (sections.length > 1) {
    const shown = sections.map(({ page: name, title }) => `  ${name}: ${title}`);
    return say(
      invocation,
      `Sections about "${word}", by the page that muster help --page shows:\n\n${shown.join('\n')}`,
    );
  }
  const meant = suggestion(word, [...Object.keys(commands), ...pages.map(({ name }) => name)]);
  invocation.stderr.line(`muster help: There is no command and no topic "${word}".${meant} muster help lists them.`);
  return 2;
}

export const manpages = musterCommand({
  usage: `Usage: muster manpages DIR

Writes a page of the manual for each command, and one that lists them, to DIR/man1; with DIR in MANPATH "man rpower" finds them.`,
  operands: [1, 1, 'Name one directory.'],
  async run(invocation, { operands: [directory = ''] }) {
    const pages = join(directory, 'man1');
    mkdirSync(pages, { recursive: true });
    for (const [name, entry] of Object.entries(commands)) {
      const title = entry.isMuster ? `muster-${name}` : name;
      writeFileSync(join(pages, `${title}.1`), page(title, entry, (await entry.load()).usage));
    }
    writeFileSync(join(pages, 'muster.1'), page('muster', { summary: 'manage a cluster' }, await overview()));
    return say(invocation, `${Object.keys(commands).length + 1} pages have been written to ${pages}.`);
  },
});

/** A backslash, a dash, and a dot or quote at the beginning of a line mean something to roff. */
const escaped = (text: string): string =>
  text
    .replaceAll('\\', String.raw`\e`)
    .replaceAll('-', String.raw`\-`)
    .replaceAll(/^([.'])/gm, String.raw`\&$1`);

const page = (name: string, { summary }: Pick<CommandEntry, 'summary'>, text: string): string =>
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
