import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import * as commands from '../../src/commands/index.ts';

const lister = join(import.meta.dirname, '../lab/loaded-modules.mjs');
/** Those whose processes speak to nodes themselves. */
const remote = ['imgcapture'];
const works = Object.values(commands).flatMap((command) =>
  command.kind === 'long' && !remote.includes(command.name)
    ? [[command.name, pathToFileURL(command.module).href] as const]
    : [],
);
const each = ['what all begin with', new URL('../../src/work/child.ts', import.meta.url).href] as const;

/** Libraries that take longer to load than a short run takes to do all it does, and what leads to them. */
const slow = /\/node_modules\/(re2js|ssh2|undici)\/|\/src\/(database|objects\/(?!distributions\.ts))/;

describe('the process of a long command loads nothing that serves requests', () => {
  test.each([each, ...works])('%s', async (_, module) => {
    const { stdout } = await promisify(execFile)(process.execPath, [lister, module]);
    const loaded = JSON.parse(stdout) as string[];
    expect(loaded).toContain(module);
    expect(loaded.filter((url) => slow.test(url))).toEqual([]);
  });
});
