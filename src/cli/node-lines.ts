import type { Input } from './input.ts';

/** Lines of an input by the node that stands before their colon, in the order in which nodes first appear. */
export async function linesByNode(input: Input, nameless: string | undefined): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for await (const line of input.lines()) {
    const { node, text } = splitLine(line);
    const name = node ?? nameless;
    if (name === undefined) continue;
    const lines = found.get(name);
    if (lines) lines.push(text);
    else found.set(name, [text]);
  }
  return found;
}

export interface NodeLine {
  /** Undefined where the line has no colon. */
  readonly node: string | undefined;
  readonly text: string;
}

/** `NODE: TEXT`; one blank behind the colon belongs to it. */
export function splitLine(line: string): NodeLine {
  const colon = line.indexOf(':');
  if (colon < 0) return { node: undefined, text: line };
  const text = line.slice(colon + 1);
  return { node: line.slice(0, colon).trim(), text: text.startsWith(' ') ? text.slice(1) : text };
}
