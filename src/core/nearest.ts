/** Slips that are looked for: a letter too many, one missing, one wrong, two exchanged. */
const mostSlips = 2;

/** The known word that somebody may have meant, if one is near. Short words must be nearer. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > 64) return undefined;
  const given = word.toLowerCase();
  let best: string | undefined;
  let least = Math.min(mostSlips, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= least) continue;
    const slips = distance(given, candidate.toLowerCase());
    if (slips < least) [best, least] = [candidate, slips];
  }
  return best;
}

/** ` Did you mean "rack"?`, or nothing. */
export function suggestion(word: string, known: Iterable<string>): string {
  const meant = nearest(word, known);
  return meant === undefined ? '' : ` Did you mean "${meant}"?`;
}

/** How many slips lie between two words. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let slips = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) slips = Math.min(slips, before[j - 2]! + 1);
      row.push(slips);
    }
    [before, last] = [last, row];
  }
  return last[b.length]!;
}
