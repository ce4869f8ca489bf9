import { describe, expect, it } from 'vitest';
import { EventLines } from '../../../src/protocols/redfish/event-stream.ts';

const inPieces = (text: string, size: number): string[] => {
  const lines = new EventLines();
  const bytes = Buffer.from(text);
  const found: string[] = [];
  for (let at = 0; at < bytes.length; at += size)
    for (const data of lines.add(bytes.subarray(at, at + size))) found.push(data.toString());
  return found;
};

describe.each([1, 3, 1_000])('a stream in pieces of %i bytes', (size) => {
  it.each([
    ['data: one\n\ndata: two\n\n', ['one', 'two']],
    ['id: 1\r\nevent: x\r\ndata: {"a"\r\ndata:: 1}\r\n\r\n', ['{"a": 1}']],
    [': alive\n\n\n\ndata:x\n\n', ['x']],
    ['data: not ended\n', []],
    ['retry: 5\nid: 2\n\n', []],
  ])('%j has %j', (text, data) => expect(inPieces(text, size)).toEqual(data));
});

it.each(['data: x', 'data: x\n', 'id: x\n'])('%j without an end is refused before it fills the memory', (line) => {
  expect(() => inPieces(line.repeat(300_000), 65_536)).toThrow(/more than 262144 bytes/);
});
