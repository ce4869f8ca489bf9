// Times as somebody reads them: the same form in every browser, with the zone, so that two people mean the same moment.

const form = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
});

/** What is no time stays as it is. */
export function momentOf(time: string | Date): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : form.format(date);
}
