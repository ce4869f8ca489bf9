import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const checkout = join(import.meta.dirname, '../..');
const options = (text: string): readonly string[] => text.match(/--max-[a-z-]+=\S+/g) ?? [];

it('the service has the same memory whether npm or bin/muster starts it', () => {
  const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  expect(options(scripts.start)).not.toEqual([]);
  expect(options(readFileSync(join(checkout, 'bin/muster'), 'utf8'))).toEqual(options(scripts.start));
});
