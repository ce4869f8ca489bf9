import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { kitFrameworks } from '../../core/kit-frameworks.ts';
import { agreed } from '../ask.ts';
import { path } from '../client.ts';
import { type Invocation, say, xcatCommand } from '../command.ts';
import { acting, longWorking } from '../common-options.ts';
import { Refused, UsageError } from '../errors.ts';
import { errorLine, referenceVersion } from '../lines.ts';
import { filled, flag, verbose } from '../options.ts';
import { act, longWork } from '../server-work.ts';

/** What the tables of kits, repositories and components have, by column. */
export type KitRow = Readonly<Record<string, string>>;

export interface ListedKit {
  readonly kit: KitRow;
  readonly repos: readonly KitRow[];
  readonly components: readonly KitRow[];
  readonly images: Readonly<Record<string, readonly string[]>>;
}

export const listKits = async ({ client }: Invocation): Promise<readonly ListedKit[]> =>
  ((await client.get('/kits')) as { kits: ListedKit[] }).kits;

/** The commands on kits say by which frameworks they read kits, since scripts ask for that. */
export const kitVersion = (command: string): string =>
  `${command} - Version ${referenceVersion}\n\tkitframework = ${kitFrameworks.own}\n\tcompatible_frameworks = ${kitFrameworks.compatible.join()}\n`;

/** Names joined by commas. An empty word, as an unset variable leaves it, must not mean all of them. */
export function commaList(words: readonly string[], what: string): string[] {
  const names = words.flatMap((word) => word.split(',')).filter((word) => word !== '');
  if (words.length > 0 && names.length === 0)
    throw new UsageError(`The name of a ${what} is empty. Name one, or leave the empty word out.`);
  return names;
}

export const addkit = xcatCommand({
  usage: `Usage: addkit [-i] [-p PATH] KIT[,KIT...]
       addkit -h | --help | -v | --version

  Adds software kits: tar archives of repositories, lists and scripts, or directories with the same content, on the management node.`,
  options: {
    'i|inspection': flag('only say what the kits are'),
    'p|path': filled('PATH', 'directory to put them in, instead of INSTALLDIR/kits'),
    ...verbose,
  },
  version: kitVersion('addkit'),
  operands: 1,
  common: longWorking,
  async run(invocation, call) {
    const files = commaList(call.operands, 'kit');
    if (files.length === 0) return say(invocation, addkit.usage, 1);
    const at = call.value('p');
    const more = {
      ...(call.flag('i') ? { inspect: true } : {}),
      ...(at === undefined ? {} : { path: resolve(at) }),
    };
    const added: string[] = [];
    for (const file of files) {
      const body = { file: resolve(file), ...more };
      const isMissing = /no file|does not exist|outside/i;
      const words = (sentences: readonly string[]): readonly string[] =>
        sentences.some((sentence) => isMissing.test(sentence)) && !existsSync(file)
          ? [`Can not find ${file}`]
          : sentences;
      const note = (line: string): void => void added.push(...(/^Adding Kit (\S+)$/.exec(line)?.slice(1) ?? []));
      if (!(await longWork(invocation, '/kits', body, call.common, words, note))) return 1;
    }
    return added.length === 0 ? 0 : say(invocation, `Kit ${added.join(',')} was successfully added.`);
  },
});

export const rmkit = xcatCommand({
  usage: `Usage: rmkit [-f] [-t] KIT[,KIT...]
       rmkit -h | --help | -v | --version

  Removes software kits. A basename means all kits that have it. If images have components of a kit, it names them and removes nothing.`,
  options: {
    'f|force': flag('also if images have components of them, which then lose these; do not ask'),
    't|test': flag('only say which components images have'),
    'verbose|V': flag('say each step'),
  },
  version: kitVersion('rmkit'),
  operands: 1,
  common: acting,
  async run(invocation, call) {
    const names = commaList(call.operands, 'kit');
    if (names.length === 0) return say(invocation, rmkit.usage, 1);
    const all = await listKits(invocation);
    const chosen = names.flatMap((name) => {
      const exact = all.filter(({ kit }) => kit['kitname'] === name);
      const found = exact.length > 0 ? exact : all.filter(({ kit }) => kit['basename'] === name);
      if (found.length === 0) throw new UsageError(`Kit ${name} could not be found in DB kit`);
      return found;
    });
    if (call.flag('t')) return tellUsers(invocation, chosen);
    const kits = chosen.map(({ kit }) => kit['kitname']!);
    const force = call.flag('f');
    if (!(await agreed(invocation, `Remove the kits ${kits.join(', ')}?`, force || call.common.yes))) return 1;
    for (const kit of kits) {
      const query = force ? { force: '1' } : {};
      const said = await act(invocation, 'DELETE', path('kits', kit), { query });
      const [first, ...steps] = said;
      for (const line of call.flag('verbose') ? steps : []) invocation.stdout.line(line);
      invocation.stdout.line(first ?? `Removing kit ${kit}`);
    }
    return say(invocation, `Kit ${kits.join(',')} was successfully removed.`);
  },
});

function tellUsers(invocation: Invocation, kits: readonly ListedKit[]): number {
  const used = kits.flatMap(({ images }) => Object.entries(images));
  for (const [component, images] of used)
    for (const image of images) invocation.stdout.line(`${component} is being used by osimage ${image}`);
  const names = used.map(([component]) => component).join(',');
  return say(
    invocation,
    used.length === 0 ? 'No kitcomponents are in use' : `Following kitcomponents are in use: ${names}`,
  );
}

const longestConf = 1 << 20;

/** The frameworks of a kit in a file of the caller, as its kit.conf says. */
export async function tellFramework({ stdout, stderr, client }: Invocation, file: string): Promise<number> {
  if (!existsSync(file)) throw new UsageError(`Could not find ${file}.`);
  stdout.line(`Extracting the kit.conf file from ${file}. Please wait.\n`);
  const words = ['--extract', '--to-stdout', '--file', file, '--wildcards', '--no-anchored', 'kit.conf'];
  try {
    const { stdout: text } = await promisify(execFile)('tar', words, { maxBuffer: longestConf });
    for (const name of ['kitframework', 'compatible_kitframeworks']) {
      const value = new Map(text.split('\n').map((line) => line.trim().split(/\s*=\s*/, 2) as [string, string])).get(
        name,
      );
      if (value === undefined) throw new UsageError(`No ${name} value was found.`);
      stdout.line(`\t${name}=${value}`);
    }
    return 0;
  } catch (error) {
    if (error instanceof UsageError || error instanceof Refused) throw error;
    stderr.line(errorLine(`No kit.conf file was found in ${file}.`, client.server));
    return 1;
  }
}
