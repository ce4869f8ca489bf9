import { garbled } from './faults.ts';
import { mostParameters } from './limits.ts';
import type { XdrReader } from './xdr-reader.ts';
import type { XdrWriter } from './xdr-writer.ts';

export type ParameterValue = number | bigint | boolean | string;
export type Parameters = ReadonlyMap<string, ParameterValue>;

/** How values of unlike types are read, by the number of the type. */
const readers: Readonly<Record<number, (body: XdrReader) => ParameterValue>> = {
  1: (body) => body.int(),
  2: (body) => body.uint(),
  3: (body) => body.hyper(),
  4: (body) => body.uhyper(),
  5: (body) => body.double(),
  6: (body) => body.bool(),
  7: (body) => body.string(),
};

export function readParameters(body: XdrReader): Parameters {
  const entries = body.list(mostParameters, (): readonly [string, ParameterValue] => {
    const name = body.string();
    const type = body.int();
    const read = readers[type];
    if (!read) throw garbled(`a value of type ${type}`);
    return [name, read(body)];
  });
  return new Map(entries);
}

const textType = 7;

/** Texts by their names, of which one may have several. */
export const writeTexts = (body: XdrWriter, texts: readonly (readonly [name: string, value: string])[]): XdrWriter =>
  body.list(texts, ([name, value]) => body.string(name).int(textType).string(value));
