import { fail, toInteger, toText, type Value } from './values.ts';

const directive = /%(-?)(0?)(\d{0,3})([dxXos%])|%/g;

/** %d %x %X %o %s with an optional width, left-aligned by `-`, filled with zeros by `0`; any other directive fails. */
export function sprintf(format: string, args: readonly Value[]): string {
  let next = 0;
  return format.replace(directive, (_all, left: string, zero: string, width: string, kind: string | undefined) => {
    if (kind === undefined) fail();
    if (kind === '%') return '%';
    const shown = show(kind, args[next++] ?? '');
    const wanted = Number(width);
    if (left) return shown.padEnd(wanted);
    if (!zero) return shown.padStart(wanted);
    return shown.startsWith('-') && kind === 'd'
      ? `-${shown.slice(1).padStart(wanted - 1, '0')}`
      : shown.padStart(wanted, '0');
  });
}

function show(kind: string, value: Value): string {
  if (kind === 's') return toText(value);
  const number = toInteger(value);
  if (kind === 'd') return String(number);
  if (number < 0) fail();
  const digits = number.toString(kind === 'o' ? 8 : 16);
  return kind === 'X' ? digits.toUpperCase() : digits;
}
