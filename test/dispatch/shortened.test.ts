import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { atOnce } from '../../src/core/slices.ts';
import { shortened, shortenedLine } from '../../src/dispatch/shortened.ts';

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

it.each([0, 1, 256, 257, 5_000])('keeps of a line of %i words what it keeps of its text', (count) => {
  const words = Array.from({ length: count }, (_, i) => `node${i}=värde${'x'.repeat(i % 7)}`);
  expect(atOnce(shortenedLine(words))).toBe(shortened(words.join(' ')));
  const short = Array.from({ length: count }, () => '');
  expect(atOnce(shortenedLine(short))).toBe(shortened(short.join(' ')));
});
