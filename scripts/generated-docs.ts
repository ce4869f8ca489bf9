// Compares the parts of the manual that follow from the program with the program; with --write, writes them.
// A part stands between two marks of its page; docs/limits.md is such a part as a whole.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { commands } from '../src/cli/commands/index.ts';
import { allSettings } from '../src/config.ts';
import type { Settings } from '../src/core/settings.ts';
import meanings from '../src/database/meanings.json' with { type: 'json' };
import { type Table, tables } from '../src/database/tables.ts';
import { entriesOf } from '../src/load-settings.ts';
import { attributeList, type Described } from '../src/objects/attribute-list.ts';
import { objectTypes } from '../src/objects/types.ts';
import { errorsAt } from '../src/rest/describe/errors.ts';
import { musterRoot, roots, statusAt } from '../src/rest/endpoints/roots.ts';
import { comparedWithManual } from './xcat-options.ts';

export const docs = join(import.meta.dirname, '..', 'docs');

interface Part {
  /** Below docs. */
  readonly page: string;
  readonly name: string;
  text(): string | Promise<string>;
}

const code = (text: string | number) => `\`${text}\``;
/** What would end a cell, or be taken for a tag or a mark. */
const plain = (text: string): string =>
  text
    .replaceAll('|', String.raw`\|`)
    .replaceAll(/<\w+>/g, code)
    .replaceAll(/\*(?!\*)/g, String.raw`\*`);

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`.replaceAll('|  |', '| |');
  return [line(head), `|${'---|'.repeat(head.length)}\n`, ...rows.map(line)].join('');
}

type Entry = ReturnType<typeof entriesOf>[number];

/** Rows of settings. */
export function settingsTable(entries: readonly Entry[]): string {
  const rows = entries.map(({ name, variable, option, defaultText, setting }) => {
    const isList = Type.IsArray(setting);
    const inFile = setting.onlyVariable ? '' : `${code(name)}${isList ? ' (list)' : ''}`;
    const flag = option ? `, ${code(`${option} ${setting.flag?.toUpperCase()}`)}${isList ? ' (repeatable)' : ''}` : '';
    const choices = Type.IsEnum(setting) ? `. One of: ${setting.enum.map(code).join(', ')}` : '';
    return [inFile + flag, code(variable), defaultText, setting.description + choices];
  });
  return table(['setting, option', 'variable', 'default', 'what it is'], rows);
}

/** What most sites set, in the order in which they come to it. */
const commonSettings = [
  'data',
  'listen',
  'tls.certificate',
  'tls.key',
  'hardware.networks',
  'remote.networks',
  'remote.sources',
  'boot.listen',
  'boot.tftpListen',
  'boot.files',
];

const sections: Readonly<Record<string, string>> = {
  general: 'Where muster keeps its data, where it listens, what it logs.',
  http: 'HTTP without TLS, for a reverse proxy.',
  socket: 'The socket for users of the management node.',
  tls: 'A certificate of your own.',
  xcatws: "Replies for xCAT's clients.",
  limits: 'Limits for clients.',
  hardware: 'BMCs and hypervisors.',
  names: 'The hosts file and name resolution.',
  dns: 'BIND.',
  dhcp: 'Kea.',
  boot: 'Network boot and provisioning.',
  discovery: 'Search for devices by SLP and SSDP.',
  remote: 'Commands and files on nodes, by SSH.',
  images: 'Operating system images.',
  longWork: 'Commands that take minutes, such as building an image.',
  hooks: 'Events that muster sends to other programs.',
  metrics: 'Prometheus.',
};

const sectionOf = ({ name }: Entry): string => (name.includes('.') ? name.slice(0, name.indexOf('.')) : 'general');

export function settingsBySection(settings: Settings): string {
  const groups = Object.groupBy(entriesOf(settings), sectionOf);
  return Object.entries(groups)
    .map(([name, entries]) => {
      const title = name === 'general' ? name : code(name);
      return `### ${title}\n\n${sections[name] ?? ''}\n\n${settingsTable(entries!)}`;
    })
    .join('\n');
}

function common(): string {
  const entries = entriesOf(allSettings);
  return settingsTable(commonSettings.map((wanted) => entries.find(({ name }) => name === wanted)!));
}

const checkedFor = ({ meaning, type }: Described): string =>
  plain(type === 'text' || meaning.startsWith(type) ? meaning : `${meaning} (${type})`);
const usedBy = ({ readBy }: Described): string => (readBy.startsWith('nothing: ') ? '' : plain(readBy));
const listRows = (list: Readonly<Record<string, Described>>, names = Object.keys(list)): string[][] =>
  names.map((name) => [
    code(name),
    checkedFor(list[name]!),
    list[name]!.stored.map(plain).join(', '),
    usedBy(list[name]!),
  ]);

const attributeHead = ['attribute', 'meaning', 'stored in', 'used by'];
const mostUsed = ['node', 'group', 'osimage', 'network', 'policy', 'site'];

function attributes(): string {
  const others = [...objectTypes.keys()].filter((name) => !mostUsed.includes(name)).sort();
  return [...mostUsed, ...others]
    .filter((name) => Object.keys(attributeList(name)).length > 0)
    .map(
      (name) =>
        `## ${name}\n\n${aboutType(name)}${table(attributeHead, listRows(attributeList(name), ownAttributes(name)))}`,
    )
    .join('\n');
}

const isShared = (name: string): boolean => Object.hasOwn(attributeList('node'), name);
const ownAttributes = (type: string): string[] =>
  Object.keys(attributeList(type)).filter((name) => type !== 'group' || !isShared(name));

function aboutType(type: string): string {
  if (type === 'group') {
    const lacking = Object.keys(attributeList('node')).filter((name) => !Object.hasOwn(attributeList('group'), name));
    return `A group has the attributes of a node, and its nodes inherit their values. It lacks ${lacking.map(code).join(', ')}, and adds:\n\n`;
  }
  const { key } = objectTypes.get(type)!;
  return type === 'site' ? '' : `The name of such an object is ${code(key)}.\n\n`;
}

const abouts: Readonly<Record<string, { readonly about: string }>> = meanings;

function allTables(): string {
  return [...tables.values()]
    .map((each) => {
      const list = attributeList(`tables.${each.name}`);
      const rows = Object.entries(list).map(([name, described]) => [
        code(name),
        checkedFor(described),
        usedBy(described),
      ]);
      return `## ${each.name}\n\n${aboutTable(each)}\n\n${table(['column', 'meaning', 'used by'], rows)}`;
    })
    .join('\n');
}

function aboutTable({ name, keys, log, nodeColumn }: Table): string {
  const about = abouts[name]?.about ?? '';
  const key = `Key: ${keys.map(code).join(', ')}.`;
  const kind = log ? ' muster only appends to this table.' : nodeColumn ? ' Rows are about nodes or groups.' : '';
  return `${about.charAt(0).toUpperCase()}${about.slice(1)}. ${key}${kind}`;
}

function errors(): string {
  const xcatws = roots.find((root) => root !== musterRoot)!;
  const meets = new Set(errorsAt(xcatws).map(({ kind }) => kind));
  const rows = errorsAt(musterRoot).map(({ kind, status, code: number, when, next }) => {
    const there = statusAt(xcatws, kind);
    const elsewhere = meets.has(kind) ? (there === status ? '' : String(there)) : 'never';
    return [String(status), elsewhere, String(number), code(kind), plain(when), next];
  });
  return table(['status', 'at `/xcatws`', '`errorcode`', 'kind', 'when', 'what to do'], rows);
}

const isAbsent = ({ summary }: { readonly summary: string }): boolean => /\bnot here\b/i.test(summary);
const names = Object.keys(commands).sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
const ofMuster = names.filter((name) => commands[name]!.isMuster);
const ofXcat = names.filter((name) => !commands[name]!.isMuster && !isAbsent(commands[name]!));
const absent = names.filter((name) => !commands[name]!.isMuster && isAbsent(commands[name]!));

async function helpTexts(wanted: readonly string[]): Promise<string> {
  const pieces = wanted.map(async (name) => {
    const { usage } = await commands[name]!.load();
    return `### ${code(name)}\n\n${commands[name]!.summary}.\n\n\`\`\`help\n${usage.trimEnd()}\n\`\`\`\n`;
  });
  return (await Promise.all(pieces)).join('\n');
}

/** The help of a command that is not there says what to use. */
async function insteadOf(name: string): Promise<string> {
  const paragraphs = (await commands[name]!.load()).usage.split('\n\n');
  const text = paragraphs.find((paragraph) => !paragraph.startsWith('Usage:')) ?? '';
  return withCalls(text.trim().replace(`${name} does nothing here. `, ''));
}

/** Attributes, settings and commands of the system that sentences name. */
const programWords = [
  'pkglist',
  'otherpkglist',
  'servicenode',
  'xcatmaster',
  'mgt',
  'logLevel = "debug"',
  'MUSTER_DEBUG=1',
  'setupntp',
  'systemctl restart muster',
  'journalctl -u muster',
  'GET /metrics',
  'docs/speed.md',
];

/** Calls of commands in a sentence, such as `rpower NODERANGE softoff`; and attributes of the site. */
const calls = new RegExp(
  String.raw`(?<![\w=-])(?:muster (?:${ofMuster.join('|')}|sshkey|serve|import|backup|restore)(?: (?:exec|shell|IMAGE|find /lib/modules))*|site\.\w+|${programWords.join('|')}|(?:${ofXcat.join('|')})(?: (?:-\w\b|[A-Z]{4,}|\w+=[A-Z]+|servicenode==NAME|net|boot|softoff|bmcreboot))*|/docs)(?=[ ,;.:)]|$)`,
  'g',
);

const withCalls = (text: string): string => plain(text).replaceAll(calls, code);

/** Commands that share a sentence share a row. */
async function absentCommands(): Promise<string> {
  const instead = new Map<string, string[]>();
  for (const name of absent) {
    const text = await insteadOf(name);
    instead.set(text, [...(instead.get(text) ?? []), name]);
  }
  const rows = [...instead].map(([text, alike]) => [alike.map(code).join(', '), text]);
  return table(['command', 'what to use'], rows);
}

/** Options with the same reason stand together. */
async function optionsOfXcat(): Promise<string> {
  const rows = (await comparedWithManual()).map(({ command, same, different, instead }) => {
    const byReason = Map.groupBy(different, ({ why }) => why);
    const reasons = [...byReason].map(
      ([why, options]) => `${options.map(({ option }) => code(option)).join(', ')}: ${withCalls(why)}`,
    );
    const name = instead === undefined ? `[${code(command)}](commands.md#${command.toLowerCase()})` : code(command);
    return [name, same.map(code).join(', '), instead === undefined ? reasons.join('<br>') : withCalls(instead)];
  });
  return table(['command', 'options that are the same', 'what differs, or what to use instead'], rows);
}

const linked = (wanted: readonly string[], page: string): string =>
  table(
    ['command', 'what it does'],
    wanted.map((name) => [`[${code(name)}](${page}#${name.toLowerCase()})`, commands[name]!.summary]),
  );

/** The pages in the order of the manual; those that are new come last. */
const order =
  `install first-cluster nodes hardware names remote images boot machines history backup accounts security xcat programs
speed`.split(/\s/);

/** The sections "Limits" of all pages, with links that work from here. */
export function gatheredLimits(pages: readonly (readonly [page: string, text: string])[]): string {
  return pages
    .flatMap(([page, text]) => {
      const title = /^# (.+)$/m.exec(text)?.[1] ?? page;
      const limits = /^## Limits\n([^]*?)(?=^## |$(?![^]))/m.exec(text)?.[1]?.trim();
      if (limits === undefined) return [];
      return `## ${title}\n\nFrom [${title}](${page}#limits).\n\n${limits.replaceAll('](#', `](${page}#`)}\n`;
    })
    .join('\n');
}

function allLimits(): string {
  const found = readdirSync(docs).filter((file) => file.endsWith('.md') && file !== 'limits.md');
  const rank = (file: string): number => (order.indexOf(file.slice(0, -3)) + order.length + 1) % (order.length + 1);
  const pages = found.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  return gatheredLimits(pages.map((page) => [page, readFileSync(join(docs, page), 'utf8')]));
}

const parts: readonly Part[] = [
  { page: 'reference/settings.md', name: 'common settings', text: common },
  { page: 'reference/settings.md', name: 'settings', text: () => settingsBySection(allSettings) },
  { page: 'reference/attributes.md', name: 'attributes', text: attributes },
  { page: 'reference/tables.md', name: 'tables', text: allTables },
  { page: 'reference/errors.md', name: 'errors', text: errors },
  { page: 'reference/commands.md', name: 'own commands', text: () => helpTexts(ofMuster) },
  { page: 'reference/commands.md', name: 'commands of xCAT', text: () => helpTexts(ofXcat) },
  { page: 'xcat.md', name: 'commands', text: () => linked(ofXcat, 'reference/commands.md') },
  { page: 'xcat.md', name: 'commands that are not there', text: absentCommands },
  { page: 'reference/xcat-options.md', name: 'options of xCAT', text: optionsOfXcat },
  { page: 'limits.md', name: 'limits', text: allLimits },
];

const begin = (name: string): string => `<!-- begin ${name}: npm run format writes this -->\n`;
const end = (name: string): string => `<!-- end ${name} -->`;

/** A page with a text between the marks of a part. */
export function withPart(page: string, name: string, text: string): string {
  const from = page.indexOf(begin(name));
  const to = page.indexOf(end(name));
  if (from < 0 || to < from) throw new Error(`A page has no marks "${begin(name).trim()}" and "${end(name)}".`);
  return `${page.slice(0, from)}${begin(name)}\n${text.trimEnd()}\n\n${page.slice(to)}`;
}

/** The pages that are not what they should be, with the text that they should have. */
export async function outdatedPages(): Promise<Map<string, string>> {
  const now = new Map<string, string>();
  const right = new Map<string, string>();
  for (const { page, name, text } of parts) {
    const before = now.get(page) ?? readFileSync(join(docs, page), 'utf8');
    now.set(page, before);
    right.set(page, withPart(right.get(page) ?? before, name, await text()));
  }
  return new Map([...right].filter(([page, text]) => text !== now.get(page)));
}

if (import.meta.main) {
  const outdated = await outdatedPages();
  for (const [page, text] of outdated) {
    if (process.argv.includes('--write')) writeFileSync(join(docs, page), text);
    else console.log(`docs/${page} has parts that are not what the program says; npm run format writes them again.`);
  }
  if (outdated.size > 0 && !process.argv.includes('--write')) process.exitCode = 1;
}
