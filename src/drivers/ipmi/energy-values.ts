import { Fault } from '../../core/errors.ts';

/** The power limits a machine can keep, in watts. */
export interface CappingRange {
  readonly minimum: number;
  readonly maximum: number;
}

const wireRange: CappingRange = { minimum: 1, maximum: 65_535 };

/** `on`, `off`, `enable`, `disable` and what people write instead. */
export function parseSwitch(value: string): boolean {
  switch (value.trim().toLowerCase()) {
    case 'on':
    case 'en':
    case 'enable':
    case 'enabled':
      return true;
    case 'off':
    case 'dis':
    case 'disable':
    case 'disabled':
      return false;
    default:
      throw new Fault('invalid', `the value "${value}" is neither on nor off.`);
  }
}

/** `250`, `250W` or `50%` of the range; checked against the range, or against what the protocol can say if it is unknown. */
export function parseWatts(value: string, range: CappingRange | undefined): number {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)\s*(W|%)?$/i.exec(value.trim());
  if (!match)
    throw new Fault('invalid', `"${value}" is no power limit; give watts such as 250 or 250W, or percent such as 50%.`);
  const number = Number(match[1]);
  if (match[2] !== '%') return inside(Math.round(number), range ?? wireRange, value);
  if (range === undefined) {
    throw new Fault(
      'invalid',
      'this hardware does not tell the range of its power limit; give watts instead of percent.',
    );
  }
  if (number > 100) throw new Fault('invalid', `the power limit "${value}" is more than 100%.`);
  return Math.round(range.minimum + ((range.maximum - range.minimum) * number) / 100);
}

function inside(watts: number, range: CappingRange, value: string): number {
  if (watts >= range.minimum && watts <= range.maximum) return watts;
  throw new Fault('invalid', `the power limit "${value}" is not between ${range.minimum} W and ${range.maximum} W.`);
}
