import { dirname, join as joinPath } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { pathKey, type Placed } from '../remote/cargo.ts';
import type { NodePlan, PlannedRule, WantedTree } from './node-plan.ts';

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

/**
 * The file as it was before the first time is kept, whole or not at all, and the rest is put behind it each time. Where packing the image
 * has put it there already, the file was what stands before it.
 */
const appending = `dst=$1 org=$2 dir=$3
shift 3
${begin}
joined() {
  last=
  for f; do
    [ -z "$last" ] || [ -z "$(tail -c 1 "$last")" ] || echo
    cat "$f"
    last=$f
  done
}
if [ ! -e "$org" ]; then
  mkdir -p "$dir"
  if [ -e "$dst" ]; then cp -p "$dst" "$org.new"; else : > "$org.new"; fi
  joined "$@" > "$org.add"
  size=$(($(wc -c < "$org.new") - $(wc -c < "$org.add")))
  if [ "$size" -ge 0 ] && tail -c "+$((size + 1))" "$org.new" | cmp -s - "$org.add"; then
    head -c "$size" "$org.new" > "$org.add"
    cat "$org.add" > "$org.new"
  fi
  rm -f "$org.add"
  mv -f "$org.new" "$org"
fi
joined "$org" "$@" > "$new"
${replace}`;

/** Entries of the same name are replaced where they stand, new ones go to the end. */
const merging = `dst=$1
shift
${begin}
[ -e "$dst" ] && old=$dst || old=/dev/null
awk -F: '
  pass == 1 { if ($1 != "" && !($1 in wanted)) names[++count] = $1; if ($1 != "") wanted[$1] = $0; next }
  $1 in wanted { if (!printed[$1]++) print wanted[$1]; next }
  { print }
  END { for (i = 1; i <= count; i++) if (!printed[names[i]]++) print wanted[names[i]] }
' pass=1 "$@" pass=2 "$old" > "$new"
${replace}`;

/** Puts the content of files on the node behind that of another. Prints `changed` if that changed it. */
function appendWords(destination: string, storage: string, sources: readonly string[]): string[] {
  const original = joinPath(storage, 'org', destination);
  return ['sh', '-c', appending, 'sh', destination, original, dirname(original), ...sources];
}

/** Merges entries such as those of /etc/passwd into another file by their names. Prints `changed` if that changed it. */
const mergeWords = (destination: string, _storage: string, sources: readonly string[]): string[] => [
  'sh',
  '-c',
  merging,
  'sh',
  destination,
  ...sources,
];

/** Files that go into one file of the node. */
export interface Joining {
  readonly destination: string;
  readonly rules: readonly PlannedRule[];
  /** Where the sources are kept on the node, so that they travel only when they have changed. */
  readonly copies: readonly Placed[];
  /** The command that joins them, and what to call it. */
  readonly words: readonly string[];
  readonly doing: string;
}

export function joinings({ appends, merges }: NodePlan, storage: string): Joining[] {
  const kinds = [
    { kind: 'append', rules: appends, wordsOf: appendWords, verb: 'appending to' },
    { kind: 'merge', rules: merges, wordsOf: mergeWords, verb: 'merging into' },
  ];
  return kinds.flatMap(({ kind, rules: all, wordsOf, verb }) =>
    [...byDestination(all)].map(([destination, rules]) => {
      const copies = rules.flatMap(({ trees }) => trees.map((tree) => stored(tree, joinPath(storage, kind))));
      const sources = copies.map(({ path }) => path.toString());
      const words = wordsOf(destination, storage, sources);
      return { destination, rules, copies, words, doing: `${verb} ${destination}` };
    }),
  );
}

function byDestination(rules: readonly PlannedRule[]): Map<string, PlannedRule[]> {
  const groups = new Map<string, PlannedRule[]>();
  for (const rule of rules) groups.set(rule.destination, [...(groups.get(rule.destination) ?? []), rule]);
  return groups;
}

function stored(tree: WantedTree, directory: string): Placed {
  const [item] = tree.items;
  if (item!.kind !== 'file') throw new Fault('invalid', `${tree.path} is not a file, and only files can be joined.`);
  const path = Buffer.from(joinPath(directory, tree.path));
  return { item: item!, path, key: pathKey(path) };
}
