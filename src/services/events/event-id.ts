import { Fault } from '../../core/errors.ts';

/** Where a listener is: what it has heard of the store, and of this process, which alone knows runs and power. */
export interface Position {
  /** Of the last change set. */
  readonly sequence: number;
  /** Which numbers are meant: they begin anew when nobody has listened for a while. */
  readonly era: string;
  readonly number: number;
}

export const eventId = ({ sequence, era, number }: Position): string => `${sequence}.${era}.${number}`;

export function parseEventId(text: string): Position {
  const [, sequence, era, number] = /^(\d{1,15})\.([0-9a-f]{8})\.(\d{1,15})$/.exec(text) ?? [];
  if (era === undefined)
    throw new Fault(
      'malformed',
      'Last-Event-ID is no id of an event of muster; leave it out to hear of what happens from now on.',
    );
  return { sequence: Number(sequence), era, number: Number(number) };
}
