import { cachedByText } from './cache.ts';

/** A comma list as its items, blanks trimmed. The same few lists recur on every node. */
export const listItems = cachedByText(20_000, (list): readonly string[] =>
  list.split(',').flatMap((item) => item.trim() || []),
);
