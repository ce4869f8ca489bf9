import { chdef } from '../../src/commands/chdef.ts';
import { lsdef } from '../../src/commands/lsdef.ts';
import { mkdef } from '../../src/commands/mkdef.ts';
import { rmdef } from '../../src/commands/rmdef.ts';
import { answerOf, type TestStore } from './store.ts';

interface Line {
  verb: string;
  type: string;
  names: string | undefined;
  attributes: Record<string, string>;
  flags: Set<string>;
  values: Map<string, string>;
  selections: string[];
}

const flagsWithValue = new Set(['-t', '-o', '-i', '-n', '-w']);

function parse([verb, ...words]: readonly string[]): Line {
  const line: Line = {
    verb: verb!,
    type: 'node',
    names: undefined,
    attributes: {},
    flags: new Set(),
    values: new Map(),
    selections: [],
  };
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    const mark = word.indexOf('=');
    if (flagsWithValue.has(word)) {
      const value = words[++i]!;
      if (word === '-t') line.type = value;
      else if (word === '-o') line.names = value;
      else if (word === '-w') line.selections.push(value);
      else line.values.set(word, value);
    } else if (word.startsWith('-')) line.flags.add(word);
    else if (mark > 0) line.attributes[word.slice(0, mark)] = word.slice(mark + 1);
    else line.names = word;
  }
  if (line.flags.has('-d')) line.attributes['grouptype'] = 'dynamic';
  if (line.selections.length > 0) line.attributes['wherevals'] = line.selections.join('::');
  return line;
}

/** Options of the command line that no request can ask for: stanza output, hidden nodes and selection in listings. */
export const isOnlyOnCommandLine = ([verb, ...words]: readonly string[]): boolean =>
  verb === 'lsdef' && words.some((word) => ['-S', '-w', '-z'].includes(word));

/** Runs a command line of the reference system as the request that stands for it; lists give names, other reads objects. */
export async function runLine(cluster: TestStore, argv: readonly string[]): Promise<unknown> {
  const { verb, type, names, attributes, flags, values } = parse(argv);
  const mode = flags.has('-p') ? 'append' : flags.has('-m') ? 'remove' : 'set';
  const rename = values.get('-n');
  if (verb === 'mkdef') {
    return answerOf(await cluster.run(mkdef, { type, names: names!, attributes, force: flags.has('-f') }));
  }
  if (verb === 'rmdef') return answerOf(await cluster.run(rmdef, { type, names: names! }));
  if (verb === 'chdef') {
    const args = rename === undefined ? { attributes, mode } : { rename };
    return answerOf(await cluster.run(chdef, { type, names: names ?? 'clustersite', ...args } as never));
  }
  const wanted = values.get('-i')?.split(',');
  const short = flags.has('-s') || (names === undefined && !flags.has('-l') && !wanted);
  return answerOf(
    await cluster.run(lsdef, {
      type,
      short,
      refuseEmpty: true,
      ...(names === undefined ? {} : { names }),
      ...(wanted ? { attributes: wanted } : {}),
    }),
  );
}
