import { Fault } from '../../core/errors.ts';

/** What the protocol can say. */
const mostWatts = 65_535;

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

/** `250` or `250W`. Of `50%` nobody knows what it is a part of. */
export function parseWatts(value: string): number {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)\s*(W|%)?$/i.exec(value.trim());
  if (!match) throw new Fault('invalid', `"${value}" is no power limit; give watts such as 250 or 250W.`);
  if (match[2] === '%') {
    throw new Fault(
      'invalid',
      'this hardware does not tell the range of its power limit; give watts instead of percent.',
    );
  }
  const watts = Math.round(Number(match[1]));
  if (watts >= 1 && watts <= mostWatts) return watts;
  throw new Fault('invalid', `the power limit "${value}" is not between 1 W and ${mostWatts} W.`);
}
