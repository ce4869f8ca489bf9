import { readdir } from 'node:fs/promises';
import type { Sources } from '../access/file-sources.ts';
import { orFault, unlessFault } from '../core/errors.ts';
import { commandLine, quoteWord, withEnvironment } from '../core/shell-words.ts';
import type { EffectiveReader } from '../objects/effective.ts';
import {
  hasScript,
  missingScript,
  ownScripts,
  PackageLists,
  type Postscript,
  scriptDirectory,
  scriptEnvironment,
  scriptsOf,
  type SoftwareName,
  softwareScript,
} from '../nodes/index.ts';
import { type FirstBootSync, syncing } from './first-boot-sync.ts';

/** Where scripts are on nodes, as `POST postscript` has it. */
const onNode = '/xcatpost';

/** What the scripts of a first boot come from. */
export interface ScriptSources {
  /** The directory of the scripts. */
  readonly postscripts: string;
  /** Where lists of packages may lie. */
  readonly sources: Sources;
  readonly sync: FirstBootSync;
}

/**
 * What a node runs when it is up for the first time: it fetches the directory of the scripts and runs those of all nodes, of its image and
 * its own, as `POST postscript` does. Undefined: there are none. Its last line says what failed; its code is how many.
 */
export async function firstBootScript(
  reader: EffectiveReader,
  node: string,
  from: ScriptSources,
): Promise<string | undefined> {
  const scripts = scriptsOf(reader, node);
  if (scripts.length === 0) return undefined;
  const directory = scriptDirectory(from.postscripts);
  const files = directory === undefined ? [] : await filesBelow(directory);
  const { open, sealed } = scriptEnvironment(reader, node);
  const { UPDATENODE: _, ...environment } = open;
  const steps: string[] = [];
  for (const script of scripts) {
    const own = ownScripts.find((name) => name === script.name);
    if (hasScript(directory, script.name)) steps.push(runLine(script));
    else if (own === undefined) steps.push(`lacks ${quoteWord(missingScript(script.text))}`);
    else steps.push(...(await ownLines(reader, node, own, script, from)));
  }
  const lines = [
    `# The first scripts of ${node}, made by muster.`,
    helpers,
    syncing,
    `mkdir -p ${onNode} && cd ${onNode} || exit 1`,
    ...files.map((path) => `get ${quoteWord(path)} ${quoteWord(path.split('/').map(encodeURIComponent).join('/'))}`),
    // This text travels in the clear.
    ...Object.keys(sealed).map(
      (name) => `echo ${quoteWord(`${name} is a secret, which scripts get only by POST .../postscript.`)}`,
    ),
    withEnvironment(environment, 'PATH="$PWD:$PATH"'),
    ...steps,
    'finish',
  ];
  return `${lines.join('\n')}\n`;
}

/** What muster does itself on running nodes, the node does here: it fetches the files, and has a package manager. */
async function ownLines(
  reader: EffectiveReader,
  node: string,
  own: (typeof ownScripts)[number],
  { type, text }: Postscript,
  { sources, sync }: ScriptSources,
): Promise<string[]> {
  const done = await orFault(
    own === 'syncfiles' ? sync.lines(reader, node) : softwareLines(reader, node, own, sources),
  );
  if (!Array.isArray(done)) return [`lacks ${quoteWord(`${text}: ${done.sentences.join(' ')}`)}`];
  const lines = done.map((line) => `  ${line} || code=1`);
  return [`own_step() {`, '  code=0', ...lines, '  return $code', '}', `run ${type} ${quoteWord(text)} own_step`];
}

async function softwareLines(
  reader: EffectiveReader,
  node: string,
  name: SoftwareName,
  sources: Sources,
): Promise<string[]> {
  const lists = new PackageLists(reader, sources);
  const steps = unlessFault(lists.found.all[await lists.keyFor(node, name)]!);
  return steps.length === 0 ? [] : [commandLine(['sh', '-c', softwareScript(steps)])];
}

const helpers = `failed= count=0
get() {
  tries=0
  until mkdir -p "$(dirname "$1")" && "$MUSTER_BUSYBOX" timeout 300 "$MUSTER_BUSYBOX" wget -q -O "$1" "$MUSTER_FILES/$2" && chmod 700 "$1"; do
    tries=$((tries + 1))
    if [ "$tries" -ge 20 ]; then echo "$1 cannot be fetched."; return; fi
    sleep 3
  done
}
run() {
  type=$1 text=$2
  shift 2
  echo "$type start..: $text"
  "$@" < /dev/null
  code=$?
  echo "$type end....: $text exited with code $code"
  [ "$code" = 0 ] || fail "$text"
}
lacks() { echo "$1"; fail "$1"; }
fail() { failed="$failed\${failed:+, }$1" count=$((count + 1)); }
finish() {
  [ "$count" = 0 ] || echo "$count scripts failed: $failed"
  exit "$count"
}`;

const runLine = ({ type, text, name, args }: Postscript): string =>
  `run ${type} ${quoteWord(text)} ${commandLine([`./${name}`, ...args])}`;

async function filesBelow(directory: string): Promise<string[]> {
  const names = await readdir(directory, { recursive: true });
  return names.filter((name) => hasScript(directory, name)).sort();
}
