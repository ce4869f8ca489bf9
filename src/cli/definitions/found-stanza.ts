/** Of what devices say of themselves, nothing may begin a line: `mkdef -z` would read that as another attribute or object. */
export const inOneLine = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();

/** What was found, as `mkdef -z` reads it. Attributes without a value are left out. */
export function foundStanza(name: string, attributes: Readonly<Record<string, string>>, indent = '\t'): string {
  const lines = Object.entries(attributes).flatMap(([attribute, value]) =>
    value === '' ? [] : `${indent}${inOneLine(attribute)}=${inOneLine(value)}\n`,
  );
  return `${inOneLine(name)}:\n${lines.join('')}\n`;
}
