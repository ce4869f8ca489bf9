import { expect, it } from 'vitest';
import { runBlocks } from './run-page.ts';
import { makeWorld } from './world.ts';

const sh = (line: number, text: string) => ({ line, language: 'sh', words: [], text });
const text = (line: number, printed: string) => ({ line, language: 'text', words: [], text: printed });

it('fails where a line of a page fails, or prints something else', async () => {
  const world = await makeWorld();
  try {
    const run = (...blocks: Parameters<typeof runBlocks>[1][number][]) => runBlocks('page.md', blocks, world);
    await run(sh(1, 'echo a 1 b'), text(5, 'a ... b'));
    await expect(run(sh(1, 'echo a'), text(5, 'b'))).rejects.toThrow('page.md:5');
    await expect(run(sh(1, 'echo a'), sh(7, 'curl $CA -H "$A" $H/nodes/nobody\necho b'))).rejects.toThrow(
      /page.md:7: .*22[\s\S]*nobody/,
    );
    await expect(run(sh(9, 'muster lsdef nobody'))).rejects.toThrow('page.md:9');
    await expect(run(sh(9, 'apt install no-such-package-here'))).rejects.toThrow('page.md:9');
    await expect(run({ ...sh(3, 'muster lsdef nobody'), words: ['follow'] })).rejects.toThrow('page.md:3');
    await expect(run(text(3, 'nothing is run'))).rejects.toThrow('shows no commands');
  } finally {
    await world.stop();
  }
});
