import { commandLine } from '../../core/shell-words.ts';
import type { NodeShell } from './node-shell.ts';

/** Puts a new content in the place of a file and keeps its owner and mode; what is a link stays one. */
const replace = `
if [ -e "$dst" ] && cmp -s "$new" "$dst"; then exit 0; fi
if [ -L "$dst" ]; then cat "$new" > "$dst"; else mv -f "$new" "$dst"; fi
echo changed`;

/** With `-a` also the label that SELinux goes by. */
const begin = `
set -e
umask 077
new="$dst.$$.muster"
trap 'rm -f "$new"' EXIT
if [ -e "$dst" ]; then cp -aL "$dst" "$new"; else cp -p "$1" "$new"; fi`;

/** The file as it was before the first time is kept, whole or not at all, and the rest is put behind it each time. */
const appending = `dst=$1 org=$2 dir=$3 last=
shift 3
${begin}
if [ ! -e "$org" ]; then
  mkdir -p "$dir"
  if [ -e "$dst" ]; then cp -p "$dst" "$org.new"; else : > "$org.new"; fi
  mv -f "$org.new" "$org"
fi
{ cat "$org"
for f; do
  [ -z "$last" ] && last=$org
  [ -z "$(tail -c 1 "$last")" ] || echo
  cat "$f"
  last=$f
done; } > "$new"
${replace}`;

/** Entries of the same name are replaced where they stand, new ones go to the end. */
const merging = `dst=$1
shift
${begin}
[ -e "$dst" ] && old=$dst || old=/dev/null
awk -F: '
  pass == 1 { if ($1 != "" && !($1 in wanted)) names[++count] = $1; if ($1 != "") wanted[$1] = $0; next }
  $1 in wanted { if (!told[$1]++) print wanted[$1]; next }
  { print }
  END { for (i = 1; i <= count; i++) if (!told[names[i]]++) print wanted[names[i]] }
' pass=1 "$@" pass=2 "$old" > "$new"
${replace}`;

/** Puts the content of files on the node behind that of another; whether that changed it. */
export async function appendFiles(
  shell: NodeShell,
  destination: string,
  original: string,
  sources: readonly string[],
): Promise<boolean> {
  const directory = original.slice(0, original.lastIndexOf('/'));
  const words = ['sh', '-c', appending, 'sh', destination, original, directory, ...sources];
  const lines = await shell.must(commandLine(words), `appending to ${destination}`);
  return lines.includes('changed');
}

/** Merges entries such as those of /etc/passwd into another file by their names; whether that changed it. */
export async function mergeFiles(shell: NodeShell, destination: string, sources: readonly string[]): Promise<boolean> {
  const lines = await shell.must(
    commandLine(['sh', '-c', merging, 'sh', destination, ...sources]),
    `merging into ${destination}`,
  );
  return lines.includes('changed');
}
