import { type Json, listAt, textAt } from './json.ts';

/** The text of a Message or a log entry, with what belongs in the places of `%1`, `%2` (DSP0266 "Message object"). */
export function messageText(message: Json): string | undefined {
  const text = textAt(message, 'Message');
  if (text === undefined || !text.includes('%')) return text;
  const values = listAt(message, 'MessageArgs').map((value) =>
    typeof value === 'number' ? String(value) : textAt(value),
  );
  return text.replaceAll(/%(\d{1,2})/g, (place, number: string) => values[Number(number) - 1] ?? place);
}
