import { expect, test } from 'vitest';
import { parseTimeSpan } from '../../src/access/policy-rule.ts';

/** 2031-01-05 is a Sunday. */
function at(day: string, time: string): Date {
  const [hour = 0, minute = 0] = time.split(':').map(Number);
  return new Date(2031, 0, 5 + ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'].indexOf(day), hour, minute);
}

test.each([
  ['08:00-18:00', 'Sun', '08:00', true],
  ['08:00-18:00', 'Sun', '17:59', true],
  ['08:00-18:00', 'Sun', '18:00', false],
  ['08:00-18:00', 'Sun', '07:59', false],
  ['8:00 - 18:00', 'Sun', '8:00', true],
  ['00:00-24:00', 'Tue', '23:59', true],
  ['Mon-Fri 08:00-18:00', 'Mon', '12:00', true],
  ['Mon-Fri 08:00-18:00', 'Sat', '12:00', false],
  ['mon-fri 08:00-18:00', 'Fri', '12:00', true],
  ['Monday-Friday 08:00-18:00', 'Wed', '12:00', true],
  ['Sat, Sun 00:00-24:00', 'Sun', '12:00', true],
  ['Sat,Sun 00:00-24:00', 'Mon', '00:00', false],
  ['Fri-Mon 10:00-11:00', 'Sun', '10:30', true],
  ['Fri-Mon 10:00-11:00', 'Tue', '10:30', false],
  ['Mon-Tue,Thu 10:00-11:00', 'Thu', '10:30', true],
  ['22:00-06:00', 'Wed', '23:00', true],
  ['22:00-06:00', 'Wed', '05:59', true],
  ['22:00-06:00', 'Wed', '06:00', false],
  ['22:00-06:00', 'Wed', '21:59', false],
  ['Fri 22:00-06:00', 'Fri', '22:00', true],
  ['Fri 22:00-06:00', 'Sat', '05:00', true],
  ['Fri 22:00-06:00', 'Fri', '05:00', false],
  ['Sat 22:00-06:00', 'Sun', '05:00', true],
  ['Sat 22:00-24:00', 'Sun', '00:00', false],
  ['Sat 22:00-00:00', 'Sat', '23:59', true],
])('%s on %s at %s: %j', (text, day, time, inside) => {
  expect(parseTimeSpan(text)?.(at(day, time))).toBe(inside);
});

test.each([
  '',
  'always',
  '8-18',
  '08:00',
  '08:00-',
  '25:00-26:00',
  '08:60-09:00',
  '24:01-03:00',
  '24:00-03:00',
  '08:00-08:00',
  'Mon-Fri',
  'Moon 08:00-18:00',
  'Mon-Wed-Fri 08:00-18:00',
  'Mon, 08:00-18:00',
  '08:00-18:00 Mon',
  '08:00-10:00,12:00-14:00',
])('%j cannot be read', (text) => {
  expect(parseTimeSpan(text)).toBeUndefined();
});
