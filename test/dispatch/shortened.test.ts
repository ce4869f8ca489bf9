import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { shortened } from '../../src/dispatch/shortened.ts';

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
