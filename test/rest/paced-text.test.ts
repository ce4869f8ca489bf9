import { expect, it } from 'vitest';
import { bodyText, PacedText, slice } from '../../src/rest/http/body-writer.ts';

const spend = (milliseconds: number): void => {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
};

it('lets others work after every large piece that took long, not only after many', async () => {
  const body = new PacedText();
  const large = 'x'.repeat(100_000);
  for (let piece = 0; piece < 3; piece++) {
    spend(slice + 1);
    const pause = body.add(large);
    expect(pause).toBeInstanceOf(Promise);
    await pause;
  }
  expect(bodyText(body.end('.'))).toBe(`${large.repeat(3)}.`);
});
