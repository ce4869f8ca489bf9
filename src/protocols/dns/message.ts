import { garbled, readName } from './names.ts';

export const headerBytes = 12;

export interface WireRecord {
  readonly name: string;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly at: number;
  readonly dataAt: number;
  readonly dataEnd: number;
}

/** A message taken apart; names inside the data of records are read by whoever wants them. */
export interface Message {
  readonly id: number;
  readonly opcode: number;
  readonly code: number;
  readonly questions: readonly { readonly name: string; readonly type: number }[];
  readonly answers: readonly WireRecord[];
  readonly authority: readonly WireRecord[];
  readonly additional: readonly WireRecord[];
}

/** Takes a message apart or throws a DnsFault; whatever the bytes are, it ends after at most as many steps as there are bytes. */
export function readMessage(bytes: Buffer): Message {
  if (bytes.length < headerBytes) throw garbled('it is shorter than a header');
  const count = (section: number): number => bytes.readUInt16BE(4 + section * 2);
  let at = headerBytes;
  const questions: { name: string; type: number }[] = [];
  for (let i = 0; i < count(0); i++) {
    const { name, next } = readName(bytes, at);
    if (next + 4 > bytes.length) throw garbled('a question goes beyond its end');
    questions.push({ name, type: bytes.readUInt16BE(next) });
    at = next + 4;
  }
  const recordsOf = (records: number): WireRecord[] => {
    const list: WireRecord[] = [];
    for (let i = 0; i < records; i++) {
      const record = readRecord(bytes, at);
      list.push(record);
      at = record.dataEnd;
    }
    return list;
  };
  const answers = recordsOf(count(1));
  const authority = recordsOf(count(2));
  const additional = recordsOf(count(3));
  if (at !== bytes.length) throw garbled('there are bytes after its end');
  return {
    id: bytes.readUInt16BE(0),
    opcode: (bytes[2]! >> 3) & 15,
    code: bytes[3]! & 15,
    questions,
    answers,
    authority,
    additional,
  };
}

function readRecord(bytes: Buffer, at: number): WireRecord {
  const { name, next } = readName(bytes, at);
  const dataAt = next + 10;
  if (dataAt > bytes.length) throw garbled('a record goes beyond its end');
  const dataEnd = dataAt + bytes.readUInt16BE(next + 8);
  if (dataEnd > bytes.length) throw garbled('a record goes beyond its end');
  return {
    name,
    type: bytes.readUInt16BE(next),
    class: bytes.readUInt16BE(next + 2),
    ttl: bytes.readUInt32BE(next + 4),
    at,
    dataAt,
    dataEnd,
  };
}
