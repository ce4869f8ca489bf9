import { type CliCommand, type Invocation, musterCommand } from '../command.ts';
import { commonWords } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { writtenNames } from '../options.ts';
import { readContexts } from '../places.ts';
import { commands } from './index.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

/** How the scripts ask: the words of the line, the command's name first; the last of them is the one to complete. */
const question = '--words';

const complete = musterCommand({
  usage: `Usage: muster completion bash|zsh|fish

Prints a script for the shell that completes commands, options, and names of nodes, groups, images and attributes as the server has
them. For instance:

  bash   muster completion bash > /etc/bash_completion.d/muster, or eval "$(muster completion bash)" in ~/.bashrc
  zsh    eval "$(muster completion zsh)" in ~/.zshrc, behind compinit
  fish   muster completion fish > ~/.config/fish/completions/muster.fish`,
  operands: [1, 1, `Name a shell: ${shells.join(', ')}.`],
  run({ stdout }, { operands: [shell = ''] }) {
    const links = Object.keys(commands).filter((name) => !commands[name]!.isMuster);
    if (shell === 'bash') stdout.line(bash(links));
    else if (shell === 'zsh') stdout.line(zsh(links));
    else if (shell === 'fish') stdout.line(fish(links));
    else throw new UsageError(`There is no script for "${shell}", only for ${shells.join(', ')}.`);
    return 0;
  },
});

export const completion: CliCommand = {
  ...complete,
  async run(invocation) {
    if (invocation.argv[0] !== question) return complete.run(invocation);
    for (const each of await candidates(invocation, invocation.argv.slice(1))) await invocation.stdout.line(each);
    return 0;
  },
};

/** bash takes words apart at = and the like, and wants only the last piece of what they become. */
const bash = (names: readonly string[]): string => `_muster() {
  local line=\${COMP_LINE:0:COMP_POINT} word before
  local -a words
  read -ra words <<< "$line"
  case $line in *[[:space:]]) words+=('') ;; esac
  word=\${words[-1]}
  before=\${word%"\${word##*[=:@]}"}
  mapfile -t COMPREPLY < <(muster completion ${question} "\${words[0]##*/}" "\${words[@]:1}" 2>/dev/null)
  COMPREPLY=("\${COMPREPLY[@]#"$before"}")
  case \${COMPREPLY[0]-} in *=) compopt -o nospace ;; esac
}
complete -F _muster muster ${names.join(' ')}`;

const zsh = (names: readonly string[]): string => `_muster() {
  local -a found
  found=("\${(@f)$(muster completion ${question} "\${words[1]:t}" "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=(\${found:#})
  compadd -- $found
}
compdef _muster muster ${names.join(' ')}`;

const fish = (names: readonly string[]): string => `function __muster_words
  set -l words (commandline -opc)
  muster completion ${question} (basename $words[1]) $words[2..-1] (commandline -ct) 2>/dev/null
end
for name in muster ${names.join(' ')}
  complete -c $name -f -a '(__muster_words)'
end`;

const most = 2_000;

/** What may stand where the last word stands. */
async function candidates(invocation: Invocation, words: readonly string[]): Promise<readonly string[]> {
  const line = [...words];
  let name = line.shift() ?? 'muster';
  if (name === 'muster') {
    if (line.length <= 1) return beginning(Object.keys(commands).sort(), line[0] ?? '');
    name = line.shift()!;
  }
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!entry) return [];
  const last = line.pop() ?? '';
  if (last.startsWith('-')) {
    const { options, common } = await entry.load();
    const long = Object.keys(options).flatMap((names) => writtenNames(names).filter((each) => each.startsWith('--')));
    return beginning([...long, ...commonWords(common), '--help'].sort(), last);
  }
  try {
    return await live(invocation, name, line, last);
  } catch {
    // Nobody wants to read of a server that is not there while typing.
    return [];
  }
}

const fixed: Readonly<Record<string, readonly string[]>> = {
  runs: ['attach', 'cancel', 'show'],
  servers: ['forget'],
  changes: ['diff', 'list', 'show'],
  completion: shells,
};
const ofImages = new Set(['genimage', 'packimage', 'liteimg', 'imgexport', 'lsimage', 'rmimage']);
const ofTables = new Set(['tabdump', 'tabedit', 'tabprune', 'tabrestore']);

async function live({ client }: Invocation, name: string, before: readonly string[], last: string): Promise<string[]> {
  const list = async (at: string): Promise<string[]> => (await client.get(at)) as string[];
  const previous = before.at(-1) ?? '';
  const typeAt = Math.max(before.indexOf('-t'), before.indexOf('--type'));
  const type = typeAt >= 0 && typeAt + 1 < before.length ? before[typeAt + 1]! : 'node';
  if (previous === '-t' || previous === '--type') return beginning(await list('/definitions'), last);
  if (previous === '-i') return pieces(await attributesOf(type), last);
  if (name === 'help') return beginning(Object.keys(commands).sort(), last);
  if (fixed[name] && before.length === 0) return beginning(fixed[name], last);
  if (name === 'contexts') {
    return beginning(Object.keys(readContexts(process.env).contexts), last);
  }
  if (ofImages.has(name)) return beginning(await list('/definitions/osimage'), last);
  if (ofTables.has(name)) return beginning(await list('/tables'), last);
  if (name === 'nodeset' && before.length > 0) {
    const images = (await list('/definitions/osimage')).map((image) => `osimage=${image}`);
    return beginning(['boot', 'offline', 'shell', ...images], last);
  }
  const hasObject = before.some(
    (word, at) => !word.startsWith('-') && before[at - 1] !== '-t' && before[at - 1] !== '--type',
  );
  if ((name === 'chdef' || name === 'mkdef') && hasObject && previous !== '-o')
    return beginning(
      (await attributesOf(type)).map((each) => `${each}=`),
      last,
    );
  if (hasObject && previous !== '-o') return [];
  const names = await list(`/definitions/${encodeURIComponent(type)}`);
  return pieces(type === 'node' ? [...names, ...(await list('/definitions/group'))] : names, last);

  async function attributesOf(of: string): Promise<string[]> {
    const known = (await client.get(`/attributes/${encodeURIComponent(of)}`)) as object;
    return Object.keys((known as Record<string, object>)[of] ?? known);
  }
}

/** A shell may put a name on the line as it is, and would run what stands in others. */
const isPlain = (name: string): boolean => /^[\p{L}\p{N}_.,:@%+=/-]+$/u.test(name);

const beginning = (names: readonly string[], text: string): string[] =>
  names
    .filter((name) => name.startsWith(text) && isPlain(name) && (text !== '' || !name.startsWith('-')))
    .slice(0, most);

/** The last name of a list; what stands before it stays. */
function pieces(names: readonly string[], text: string): string[] {
  const cut = text.lastIndexOf(',') + 1;
  return beginning(names, text.slice(cut)).map((name) => text.slice(0, cut) + name);
}
