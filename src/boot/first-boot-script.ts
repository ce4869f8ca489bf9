import { readdir } from 'node:fs/promises';
import { commandLine, quoteWord, withEnvironment } from '../core/shell-words.ts';
import type { EffectiveReader } from '../objects/effective.ts';
import {
  hasScript,
  missingScript,
  ownScripts,
  type Postscript,
  scriptDirectory,
  scriptEnvironment,
  scriptsOf,
} from '../nodes/index.ts';

/** Where scripts are on nodes, as `POST postscript` has it. */
const onNode = '/xcatpost';

/**
 * What a node runs when it is up for the first time: it fetches the directory of the scripts and runs those of all nodes, of its image and
 * its own, as `POST postscript` does. Undefined: there are none. Its last line says what failed; its code is how many.
 */
export async function firstBootScript(
  reader: EffectiveReader,
  node: string,
  postscripts: string,
): Promise<string | undefined> {
  const scripts = scriptsOf(reader, node);
  if (scripts.length === 0) return undefined;
  const directory = scriptDirectory(postscripts);
  const files = directory === undefined ? [] : await filesBelow(directory);
  const { open, sealed } = scriptEnvironment(reader, node);
  const { UPDATENODE: _, ...environment } = open;
  const lines = [
    `# The first scripts of ${node}, made by muster.`,
    helpers,
    `mkdir -p ${onNode} && cd ${onNode} || exit 1`,
    ...files.map((path) => `get ${quoteWord(path)} ${quoteWord(path.split('/').map(encodeURIComponent).join('/'))}`),
    // This text travels in the clear.
    ...Object.keys(sealed).map(
      (name) => `echo ${quoteWord(`${name} is a secret, which scripts get only by POST .../postscript.`)}`,
    ),
    withEnvironment(environment, 'PATH="$PWD:$PATH"'),
    ...scripts.map((script) => {
      if (hasScript(directory, script.name)) return runLine(script);
      const isOwn = ownScripts.some((name) => name === script.name);
      return isOwn ? `echo ${quoteWord(later(script))}` : `lacks ${quoteWord(missingScript(script.text))}`;
    }),
    'finish',
  ];
  return `${lines.join('\n')}\n`;
}

/** What muster does by itself, it does through SSH. */
const later = ({ text }: Postscript): string => `${text} is left to POST .../updating.`;

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
