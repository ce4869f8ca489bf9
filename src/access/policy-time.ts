/** Whether a moment lies in the rule's time. */
export type TimeSpan = (now: Date) => boolean;

const dayNames = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

/** `08:00-18:00`, `Mon-Fri 08:00-18:00`, `Sat,Sun 00:00-24:00`, local time, without the end; over midnight it belongs to its first day. Undefined: unreadable. */
export function parseTimeSpan(text: string): TimeSpan | undefined {
  const match = /^(?:([a-z][a-z, -]*?) +)?(\d{1,2}:\d{2}) *- *(\d{1,2}:\d{2})$/.exec(text.trim().toLowerCase());
  if (!match) return undefined;
  const days = parseDays(match[1]);
  const from = minuteOf(match[2]);
  const to = minuteOf(match[3]);
  if (!days || from === undefined || to === undefined || from === to || from === 24 * 60) return undefined;
  return (now) => {
    const minute = now.getHours() * 60 + now.getMinutes();
    const today = now.getDay();
    if (from < to) return days.has(today) && minute >= from && minute < to;
    return (days.has(today) && minute >= from) || (days.has((today + 6) % 7) && minute < to);
  };
}

function minuteOf(text = ''): number | undefined {
  const [hour = 0, minute = 0] = text.split(':').map(Number);
  const total = hour * 60 + minute;
  return minute < 60 && total <= 24 * 60 ? total : undefined;
}

function parseDays(text: string | undefined): Set<number> | undefined {
  if (text === undefined) return new Set([0, 1, 2, 3, 4, 5, 6]);
  const days = new Set<number>();
  for (const piece of text.split(',')) {
    const ends = piece.split('-').map(dayOf);
    const first = ends[0];
    const last = ends.length === 1 ? first : ends[1];
    if (ends.length > 2 || first === undefined || last === undefined) return undefined;
    for (let day = first; ; day = (day + 1) % 7) {
      days.add(day);
      if (day === last) break;
    }
  }
  return days;
}

function dayOf(text: string): number | undefined {
  const name = text.trim();
  const index = dayNames.findIndex((day) => day === name || day.slice(0, 3) === name);
  return index < 0 ? undefined : index;
}
