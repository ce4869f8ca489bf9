const two = (number: number): string => String(number).padStart(2, '0');

/** A time of the server in the zone of the caller, in a form that commands read back: 2026-11-15T09:05:00+01:00. */
export function localTime(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return text;
  const day = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-');
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(':');
  return `${day}T${clock}${zoneOf(time)}`;
}

function zoneOf(time: Date): string {
  const minutes = -time.getTimezoneOffset();
  if (minutes === 0) return 'Z';
  const ahead = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(ahead / 60))}:${two(ahead % 60)}`;
}

const universal = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z/g;

/** A sentence of the server with its times in the zone of the caller. */
export const withLocalTimes = (sentence: string): string =>
  sentence.includes('T') ? sentence.replaceAll(universal, localTime) : sentence;

/** `2026-11-16 9:5:0`, as tokens have it, with two digits each. */
export const padded = (text: string): string => text.replaceAll(/\b\d\b/g, (digit) => `0${digit}`);
