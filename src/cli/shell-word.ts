/** A word as a shell reads it back, in quotes where it needs them. */
export const shellWord = (text: string): string =>
  /^[\w./:=@,+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
