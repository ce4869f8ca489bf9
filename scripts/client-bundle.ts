// Makes the bundle of the command line: a script and a piece for each command instead of thirty modules that are found, read and linked
// one by one. Run by setup.mjs; without a bundle, or with one that is older than its sources, bin/muster runs the sources.
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { type OutputChunk, rolldown } from 'rolldown';

const checkout = join(import.meta.dirname, '..');
const directory = join(checkout, '.cache/client');
const commands = 'src/cli/commands/';

/** What short commands of every day have in common is one piece, since each further one costs them half a millisecond. */
const common = ['client', 'lines', 'options', 'familiar', 'columns', 'definitions/arguments', 'definitions/reading'];
const isCommon = (id: string): boolean => common.some((each) => id.endsWith(`src/cli/${each}.ts`));

/** What changed while it was read does not count as read. */
const began = Date.now();
const bundle = await rolldown({
  input: join(checkout, 'src/cli/main.ts'),
  platform: 'node',
  external: /^node:/,
  checks: { ineffectiveDynamicImport: false },
});
// A running command may still load pieces of the bundle before: those of this one have names of their own.
const { output } = await bundle.generate({
  format: 'cjs',
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name]-[hash].cjs',
  codeSplitting: { groups: [{ name: 'common', test: isCommon }] },
});
await bundle.close();
const chunks = output.filter((each): each is OutputChunk => each.type === 'chunk');

const sources: Record<string, number> = {};
for (const id of chunks.flatMap(({ moduleIds }) => moduleIds)) {
  const file = relative(checkout, id);
  if (!file.startsWith('src/')) continue;
  const { mtimeMs } = statSync(id);
  sources[file] = mtimeMs < began ? mtimeMs : 0;
}

const pieces = new Set(chunks.flatMap(({ isDynamicEntry, facadeModuleId: id }) => (isDynamicEntry && id ? [id] : [])));
const isCommand = (file: string): boolean => file.startsWith(commands) && pieces.has(join(checkout, file));
const of = (wanted: (file: string) => boolean): string =>
  JSON.stringify(Object.fromEntries(Object.entries(sources).filter(([file]) => wanted(file))));

/** Looked at each time: all that commands share, and the file of the one that is called. */
const head = `const shared = ${of((file) => !isCommand(file))};
const commands = ${of(isCommand)};
const called = process.getBuiltinModule('node:path').basename(process.env.MUSTER_CALLED ?? 'muster');
const own = '${commands}' + (called === 'muster' ? process.argv[2] : called) + '.ts';
const { statSync } = process.getBuiltinModule('node:fs');
const isCurrent = (file, time) => statSync(__dirname + '/../../' + file, { throwIfNoEntry: false })?.mtimeMs === time;
const areCurrent = (times) => Object.keys(times).every((file) => isCurrent(file, times[file]));
if (!areCurrent(shared) || !(own in commands ? isCurrent(own, commands[own]) : areCurrent(commands))) {
  require('../../src/cli/main.ts');
  return;
}
`;

function write(name: string, text: string): void {
  const file = join(directory, name);
  writeFileSync(`${file}.${process.pid}`, text);
  renameSync(`${file}.${process.pid}`, file);
}

const outdated = 60_000;
mkdirSync(directory, { recursive: true });
/** For the reason that builtin.ts tells. */
const withBuiltins = (code: string): string => code.replaceAll('require("node:', 'process.getBuiltinModule("node:');
for (const { fileName, code, isEntry } of chunks) if (!isEntry) write(fileName, withBuiltins(code));
for (const { fileName, code, isEntry } of chunks) if (isEntry) write(fileName, `{\n${head}}\n${withBuiltins(code)}`);
write('sources.json', JSON.stringify(sources));
const present = new Set([...chunks.map(({ fileName }) => fileName), 'sources.json']);
for (const name of readdirSync(directory).filter((each) => !present.has(basename(each)))) {
  const file = join(directory, name);
  if (began - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? began) > outdated) rmSync(file, { force: true });
}
