/** The words of a command on nodes: the range is the first that is no option, and the rest keeps its order. */
export function rangeWords(argv: readonly string[]): { range: string | undefined; words: readonly string[] } {
  const at = argv.findIndex((word) => !word.startsWith('-'));
  if (at < 0) return { range: undefined, words: argv };
  return { range: argv[at], words: argv.toSpliced(at, 1) };
}

export const asksHelp = (word: string | undefined): boolean => word === '-h' || word === '--help' || word === '-?';
export const asksVersion = (word: string | undefined): boolean => word === '-v' || word === '--version';
