/** Beyond this many comparisons the order of lines is not looked at. */
const mostCells = 4_000_000;

/** What a text has that another lacks, and the other way round: lines after `-` or `+`, in their order. Empty: they are equal. */
export function lineDiff(before: readonly string[], after: readonly string[]): string[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  )
    end += 1;
  const old = before.slice(start, before.length - end);
  const young = after.slice(start, after.length - end);
  return old.length * young.length > mostCells ? bySets(old, young) : byOrder(old, young);
}

function bySets(old: readonly string[], young: readonly string[]): string[] {
  const [has, had] = [new Set(young), new Set(old)];
  return [
    ...old.filter((line) => !has.has(line)).map((line) => `- ${line}`),
    ...young.filter((line) => !had.has(line)).map((line) => `+ ${line}`),
  ];
}

/** Along the longest list of lines that both have. */
function byOrder(old: readonly string[], young: readonly string[]): string[] {
  const width = young.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = young.length - 1; j >= 0; j -= 1)
      common[i * width + j] =
        old[i] === young[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
  const found: string[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < young.length) {
    if (i < old.length && j < young.length && old[i] === young[j]) {
      i += 1;
      j += 1;
    } else if (j >= young.length || (i < old.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!))
      found.push(`- ${old[i++]}`);
    else found.push(`+ ${young[j++]}`);
  }
  return found;
}
