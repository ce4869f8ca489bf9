import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Block, blocksOf } from './page.ts';
import { makeWorld, type World, type WorldOptions } from './world.ts';

/** How long a command that goes on until Ctrl-C is watched. */
const followSeconds = 3;

/**
 * Runs what a page shows, in its order and in one shell, as whoever reads it would: every line has to succeed, and a block of `text`
 * behind one of `sh` is what that prints, where `...` stands for anything.
 */
export async function runPage(page: string, options: WorldOptions = {}): Promise<void> {
  const world = await makeWorld(options);
  try {
    await runBlocks(page, blocksOf(page), world);
  } finally {
    await world.stop();
  }
}

export async function runBlocks(page: string, blocks: readonly Block[], world: World): Promise<void> {
  const isRun = ({ language, words }: Block): boolean => language === 'sh' && !words.includes('elsewhere');
  const shown = blocks.flatMap((block, index) => (isRun(block) ? [{ block, output: blocks[index + 1] }] : []));
  expect(shown.length, `${page} shows no commands`).toBeGreaterThan(0);
  const pieces = shown.map(({ block }) => `echo '${mark(block)}'\n${scriptOf(block)}\n`);
  const script = join(world.directory, 'page.sh');
  // One pipe for both, so that what a block complains about stands in its output and not in the next one's.
  writeFileSync(script, ['set -e', 'exec 2>&1', ...pieces].join('\n'));
  const { code, output } = await ended(world, script);
  const printed = output.split(/^@@ (\d+)\n/m);
  if (code !== 0)
    throw new Error(
      `${page}:${printed.at(-2)}: a line of this block ended with ${code}.\n${printed.at(-1)}\n--- the server\n${world.server.output().slice(-4000)}`,
    );
  for (const { block, output: expected } of shown) {
    if (expected?.language !== 'text') continue;
    const text = printed[printed.indexOf(String(block.line)) + 1]!;
    if (!isPrinted(text.trimEnd(), expected.text)) expect(text, `${page}:${expected.line}`).toBe(expected.text);
  }
}

const mark = ({ line }: Block): string => `@@ ${line}`;

/** Those that go on until Ctrl-C get it after a while, one by one; ending by it is success. */
function scriptOf({ words, text }: Block): string {
  if (!words.includes('follow')) return text;
  return text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => `timeout --foreground -s INT ${followSeconds} bash -c ${quoted(line)} || test $? = 124 -o $? = 130`)
    .join('\n');
}

const quoted = (line: string): string => `'${line.replaceAll("'", String.raw`'\''`)}'`;

/** Whether the pieces between `...` stand in the text in their order, the first and the last at its ends. */
function isPrinted(text: string, expected: string): boolean {
  const [first = '', ...others] = expected.trimEnd().split('...');
  const last = others.pop();
  if (last === undefined) return text === first;
  let from = first.length;
  for (const piece of others) {
    const at = text.indexOf(piece, from);
    if (at < 0) return false;
    from = at + piece.length;
  }
  return text.startsWith(first) && text.endsWith(last) && text.length - last.length >= from;
}

function ended(world: World, script: string): Promise<{ code: number | null; output: string }> {
  const [program, ...args] = world.inside.command('bash', script);
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: world.environment,
      cwd: world.directory,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}
