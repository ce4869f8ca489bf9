import { RE2JS } from 're2js';

/** A pattern in the engine, and how much memory its tables have taken. */
export interface CompiledPattern {
  readonly engine: RE2JS;
  readonly steps: number;
  tables: number;
}

const mostKept = 256;
const mostBytesKept = 32 * 1024 * 1024;
const bytesPerStep = 1_500;

/** The one used last is at the end. */
const kept = new Map<string, CompiledPattern>();

/**
 * The same patterns come again with every request, and those of all rows of a policy with a change of one. Throws what the
 * engine throws.
 */
export function compiledPattern(source: string): CompiledPattern {
  const found = kept.get(source) ?? compile(source);
  kept.delete(source);
  kept.set(source, found);
  let bytes = 0;
  for (const pattern of kept.values()) bytes += bytesOf(pattern);
  for (const [text, oldest] of kept) {
    if (kept.size <= mostKept && bytes <= mostBytesKept) break;
    kept.delete(text);
    bytes -= bytesOf(oldest);
  }
  return found;
}

function compile(source: string): CompiledPattern {
  const engine = RE2JS.compile(source);
  return { engine, steps: engine.programSize(), tables: 0 };
}

const bytesOf = ({ steps, tables }: CompiledPattern): number => steps * bytesPerStep + tables;
