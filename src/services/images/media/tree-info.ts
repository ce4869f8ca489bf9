import type { Medium } from './medium.ts';

/** Sections and their values. */
export type TreeInfo = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** `.treeinfo`, in the way of an INI file: `[section]`, `name = value`. */
export function readTreeInfo(medium: Medium): TreeInfo | undefined {
  const text = medium.marker('.treeinfo');
  if (text === undefined) return undefined;
  const sections = new Map<string, Map<string, string>>();
  let section: Map<string, string> | undefined;
  for (const line of text.split('\n')) {
    const trimmed = line.trim();
    const equals = trimmed.indexOf('=');
    if (trimmed.startsWith('[') && trimmed.endsWith(']')) sections.set(trimmed.slice(1, -1), (section = new Map()));
    else if (equals > 0 && !trimmed.startsWith(';') && !trimmed.startsWith('#'))
      section?.set(trimmed.slice(0, equals).trim(), trimmed.slice(equals + 1).trim());
  }
  return sections;
}
