/** The captures of the short form: the name, then each of its digit runs without leading zeros. */
export function digitCaptures(node: string): string[] {
  const captures = [node];
  const { length } = node;
  for (let i = 0; i < length; ) {
    if (!isDigit(node, i)) {
      i++;
      continue;
    }
    let start = i;
    while (i < length && isDigit(node, i)) i++;
    while (start < i - 1 && node[start] === '0') start++;
    captures.push(node.slice(start, i));
  }
  return captures;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}
