import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { lineOf, shortened } from '../../src/dispatch/audit.ts';

it('keeps what is not long as it is', () => {
  expect(shortened('x'.repeat(2_048))).toBe('x'.repeat(2_048));
});

it('shows beginning, end, length and hash of what is long, so that nothing is hidden behind filling', () => {
  const text = `: ${'x'.repeat(100_000)}; rm -rf /`;
  const kept = shortened(text);
  expect(kept).toMatch(/^: x+ \.\.\. \(100012 characters, SHA-256 [0-9a-f]{64}\) \.\.\. x+; rm -rf \/$/);
  expect(kept).toContain(createHash('sha256').update(text).digest('hex'));
  expect(kept.length).toBeLessThan(2_200);
});

it.each([0, 1, 256, 257, 5_000])('keeps of a line of %i words what it keeps of its text', async (count) => {
  const words = Array.from({ length: count }, (_, i) => `node${i}=värde${'x'.repeat(i % 7)}`);
  expect(await lineOf(words)).toEqual({ words, line: shortened(words.join(' ')) });
  const short = Array.from({ length: count }, () => '');
  expect(await lineOf(short)).toEqual({ words: short, line: shortened(short.join(' ')) });
});
