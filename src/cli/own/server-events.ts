import { Garbled } from '../client-errors.ts';
import { lineBatches, longestLine } from '../line-batches.ts';

/** A block of server-sent events. */
export interface ServerEvent {
  readonly id: string | undefined;
  readonly event: string;
  /** Empty in blocks that only move the id on. */
  readonly data: string;
}

export async function* serverEvents(body: AsyncIterable<Buffer>): AsyncGenerator<ServerEvent> {
  let [id, event, data]: [string | undefined, string, string[]] = [undefined, '', []];
  let size = 0;
  for await (const lines of lineBatches(body)) {
    for (const line of lines) {
      if (line === '') {
        if (id !== undefined || data.length > 0) yield { id, event, data: data.join('\n') };
        [id, event, data] = [undefined, '', []];
        size = 0;
        continue;
      }
      size += line.length + 1;
      if (size > longestLine) throw new Garbled('The server sends an event without an end; is it muster?');
      const colon = line.indexOf(':');
      const value = line.slice(colon + 1).replace(/^ /, '');
      const field = colon < 0 ? line : line.slice(0, colon);
      if (field === 'id') id = value;
      else if (field === 'event') event = value;
      else if (field === 'data') data.push(value);
    }
  }
}
