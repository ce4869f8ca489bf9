/** A block of server-sent events. */
export interface ServerEvent {
  readonly id: string | undefined;
  readonly event: string;
  /** Empty in blocks that only move the id on. */
  readonly data: string;
}

export async function* serverEvents(body: AsyncIterable<Buffer>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  let [id, event, data]: [string | undefined, string, string[]] = [undefined, '', []];
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      if (line === '') {
        if (id !== undefined || data.length > 0) yield { id, event, data: data.join('\n') };
        [id, event, data] = [undefined, '', []];
        continue;
      }
      const colon = line.indexOf(':');
      const value = line.slice(colon + 1).replace(/^ /, '');
      const field = colon < 0 ? line : line.slice(0, colon);
      if (field === 'id') id = value;
      else if (field === 'event') event = value;
      else if (field === 'data') data.push(value);
    }
  }
}
