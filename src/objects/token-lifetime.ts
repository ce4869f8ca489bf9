import { readLifetime } from '../access/tokens.ts';
import type { Draft } from '../database/draft.ts';

/** The reference system stores any text here; who writes one that means nothing is told so. */
export function lifetimeMessages(draft: Draft): string[] {
  const value = draft.get('site', 'tokenexpiredays')?.['value'];
  const isNew = value !== draft.base.get('site', 'tokenexpiredays')?.['value'];
  if (!value || !isNew || readLifetime(value) !== undefined) return [];
  return [`Site attribute tokenexpiredays: "${value}" is neither a number of days nor never; tokens live for one day.`];
}
