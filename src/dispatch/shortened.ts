import { createHash } from 'node:crypto';

const longest = 2_048;

/**
 * What the audit log keeps of a text. A long one is cut in the middle: its end counts as much as its beginning, and the hash shows
 * later whether a text is the one that was sent.
 */
export function shortened(text: string): string {
  if (text.length <= longest) return text;
  const hash = createHash('sha256').update(text).digest('hex');
  const cut = ` ... (${text.length} characters, SHA-256 ${hash}) ... `;
  const half = longest / 2;
  return `${text.slice(0, half)}${cut}${text.slice(-half)}`.toWellFormed();
}
