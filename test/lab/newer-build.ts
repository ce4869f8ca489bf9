import { cpSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const checkout = join(import.meta.dirname, '../..');

export const newerVersion = '99.0.0';

/** What a later version may have: another number, another protocol on the bus, and one more step in the database. */
const edits: readonly (readonly [from: string, to: string])[] = [
  ['const { version } = package_default;', `const version = "${newerVersion}";`],
  ['const protocol = 1;', 'const protocol = 2;'],
  [
    '"0007-shared": {',
    '"9999-newer": { async up(db) { await db.schema.alterTable(journalTable).addColumn("remark", "text").execute(); } }, "0007-shared": {',
  ],
];

export interface NewerBuild {
  /** The program. */
  readonly main: string;
  remove(): void;
}

/** A copy of the build, beside it so that it finds the same packages. */
export function makeNewerBuild(): NewerBuild {
  const built = realpathSync(join(checkout, 'dist'));
  const directory = mkdtempSync(join(built, '../newer-'));
  cpSync(built, directory, { recursive: true, filter: (file) => !file.endsWith('.map') });
  const missing = new Set(edits);
  for (const name of readdirSync(directory).filter((each) => each.endsWith('.js'))) {
    const file = join(directory, name);
    const text = readFileSync(file, 'utf8');
    const found = edits.filter(([from]) => text.includes(`\n${from}`) || text.includes(`\t${from}`));
    if (found.length === 0) continue;
    for (const edit of found) missing.delete(edit);
    writeFileSync(
      file,
      found.reduce((edited, [from, to]) => edited.replace(from, to), text),
    );
  }
  if (missing.size > 0) throw new Error(`The build has no ${[...missing].map(([from]) => from).join(' and no ')}`);
  return { main: join(directory, 'main.js'), remove: () => rmSync(directory, { recursive: true }) };
}
