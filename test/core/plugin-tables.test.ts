import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { noPlugin } from '../../src/core/plugin-tables.ts';

const directory = join(import.meta.dirname, '../data/cli');
const recorded = readdirSync(directory)
  .filter((name) => name.endsWith('.jsonl'))
  .flatMap((name) => readFileSync(join(directory, name), 'utf8').trim().split('\n'))
  .map((line) => JSON.parse(line) as { id: string; argv: string[]; stderr?: string })
  .flatMap(({ id, argv, stderr = '' }) => {
    const sentence = /Unable to identify plugin for this command, check relevant tables: \S+/.exec(stderr)?.[0];
    return sentence === undefined ? [] : [{ id, command: argv[0]!, sentence }];
  });

test.each(recorded)('$id names the columns that xCAT names', ({ command, sentence }) => {
  expect(noPlugin(command)).toBe(sentence);
});
