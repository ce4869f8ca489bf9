/** A part of a nic column; `form` is its value when that is a pattern, and `text` then only what stands before it. */
interface NicPart {
  text: string;
  form?: string;
}

const nicName = /[^,!|()]+!/y;

/** Splits `nic!value,nic!value` at the commas that are not inside a `|...|` value. */
export function splitNics(stored: string): NicPart[] {
  const parts: NicPart[] = [];
  // Where no bar ends a value any more, none does further on; looking again for each part would take quadratic time.
  let formsLeft = true;
  for (let start = 0; start <= stored.length; ) {
    const value = endOfName(stored, start);
    const opens: boolean = formsLeft && value > start && stored[value] === '|';
    const formEnd: number = opens ? endOfForm(stored, value) : -1;
    if (opens) formsLeft = formEnd >= 0;
    const comma = stored.indexOf(',', start);
    const end = formEnd >= 0 ? formEnd : comma < 0 ? stored.length : comma;
    parts.push(
      formEnd >= 0
        ? { text: stored.slice(start, value), form: stored.slice(value, end) }
        : { text: stored.slice(start, end) },
    );
    start = end + 1;
  }
  return parts;
}

function endOfName(stored: string, start: number): number {
  nicName.lastIndex = start;
  return nicName.test(stored) ? nicName.lastIndex : start;
}

/** Behind the first bar that ends the column or is followed by a comma and the next nic; -1 when there is none. */
function endOfForm(stored: string, opening: number): number {
  for (let bar = stored.indexOf('|', opening + 1); bar >= 0; bar = stored.indexOf('|', bar + 1)) {
    const next = bar + 1;
    if (next === stored.length) return next;
    if (stored[next] === ',' && endOfName(stored, next + 1) > next + 1) return next;
  }
  return -1;
}
