// A WebAssembly module that does MD5 (RFC 1321) for eight texts at once: every value is a vector of four numbers, one of each text of a
// group.

/** Numbers in the form that WebAssembly has for them; the sign counts. */
function number(value: number): number[] {
  const low = value & 0x7f;
  const rest = value >> 7;
  const isLast = (rest === 0 && low < 0x40) || (rest === -1 && low >= 0x40);
  return isLast ? [low] : [low | 0x80, ...number(rest)];
}

const count = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...count(Math.floor(value / 0x80))];
const sized = (bytes: readonly number[]): number[] => [...count(bytes.length), ...bytes];
const listed = (items: readonly (readonly number[])[]): number[] => [...count(items.length), ...items.flat()];
const section = (id: number, items: readonly (readonly number[])[]): number[] => [id, ...sized(listed(items))];
const named = (text: string): number[] => sized([...Buffer.from(text)]);

const types = { function: 0x60, memory: 0x02, integer: 0x7f, vector: 0x7b, nothing: 0x40 };
const get = (local: number): number[] => [0x20, ...count(local)];
const set = (local: number): number[] => [0x21, ...count(local)];
const tee = (local: number): number[] => [0x22, ...count(local)];
const integer = (value: number): number[] => [0x41, ...number(value)];
const loop = [0x03, types.nothing];
const branchIf = [0x0d, 0];
const end = [0x0b];
const [plus, minus] = [[0x6a], [0x6b]];

const onVectors = (code: number): number[] => [0xfd, ...count(code)];
const load = (offset: number): number[] => [...onVectors(0), 0, ...count(offset)];
const store = (offset: number): number[] => [...onVectors(11), 0, ...count(offset)];
const [not, and, andNot, or, xor] = [77, 78, 79, 80, 81].map(onVectors) as [
  number[],
  number[],
  number[],
  number[],
  number[],
];
const [shiftLeft, shiftRight, add] = [171, 173, 174].map(onVectors) as [number[], number[], number[]];
const bytesOf = (value: number): number[] => [0, 8, 16, 24].map((shift) => (value >>> shift) & 0xff);
const constant = (value: number): number[] => [...onVectors(12), ...[0, 1, 2, 3].flatMap(() => bytesOf(value))];
/** Numbers 0 to 3 are those of the first vector, 4 to 7 those of the second. */
const shuffle = (numbers: readonly number[]): number[] => [
  ...onVectors(13),
  ...numbers.flatMap((each) => [0, 1, 2, 3].map((byte) => 4 * each + byte)),
];

const four = [0, 1, 2, 3];
/**
 * Each step needs the one before it, and a processor can do more at once than one chain of them asks for: so two groups of four texts go
 * side by side.
 */
const groups = [0, 1];
export const groupSize = four.length;
export const laneCount = groupSize * groups.length;

/** What the function is called with, and its locals. */
const [state, blocks, texts] = [0, 1, 2];
const locals = texts + laneCount;
/** Of a group: its sums, what they were before the block, the words of the block, and some to spare. */
const [sums, before, words, spare, vectors] = [0, 4, 8, 24, 28];
const vectorOf = (group: number, which: number): number => locals + group * vectors + which;
const eachSum = (code: (group: number, sum: number) => readonly number[]): number[] =>
  groups.flatMap((group) => four.flatMap((sum) => code(group, sum)));

/** Four words of each text become four vectors of a word each. */
function readWords(group: number, first: number): number[] {
  const [into, from] = [vectorOf(group, words + first), vectorOf(group, spare)];
  const pairs = (of: number, a: number, b: number, which: readonly number[], to: number): number[] => [
    ...get(of + a),
    ...get(of + b),
    ...shuffle(which),
    ...set(to),
  ];
  return [
    ...four.flatMap((text) => [...get(texts + groupSize * group + text), ...load(4 * first), ...set(from + text)]),
    ...pairs(from, 0, 1, [0, 4, 1, 5], into),
    ...pairs(from, 2, 3, [0, 4, 1, 5], into + 1),
    ...pairs(from, 0, 1, [2, 6, 3, 7], into + 2),
    ...pairs(from, 2, 3, [2, 6, 3, 7], into + 3),
    ...pairs(into, 0, 1, [0, 1, 4, 5], from),
    ...pairs(into, 0, 1, [2, 3, 6, 7], from + 1),
    ...pairs(into, 2, 3, [0, 1, 4, 5], from + 2),
    ...pairs(into, 2, 3, [2, 3, 6, 7], from + 3),
    ...four.flatMap((each) => [...get(from + each), ...set(into + each)]),
  ];
}

interface Round {
  /** What is added to the value on the stack. */
  mix(b: number, c: number, d: number): number[];
  word(step: number): number;
  readonly turns: readonly [number, number, number, number];
}

const rounds: readonly [Round, Round, Round, Round] = [
  {
    mix: (b, c, d) => [...get(c), ...get(d), ...xor, ...get(b), ...and, ...get(d), ...xor, ...add],
    word: (step) => step,
    turns: [7, 12, 17, 22],
  },
  {
    // The two halves have no bit in common, so that the one that is known earlier can be added earlier.
    mix: (b, c, d) => [...get(c), ...get(d), ...andNot, ...add, ...get(b), ...get(d), ...and, ...add],
    word: (step) => (5 * step + 1) % 16,
    turns: [5, 9, 14, 20],
  },
  {
    mix: (b, c, d) => [...get(c), ...get(d), ...xor, ...get(b), ...xor, ...add],
    word: (step) => (3 * step + 5) % 16,
    turns: [4, 11, 16, 23],
  },
  {
    mix: (b, c, d) => [...get(d), ...not, ...get(b), ...or, ...get(c), ...xor, ...add],
    word: (step) => (7 * step) % 16,
    turns: [6, 10, 15, 21],
  },
];

function codeOfStep(group: number, step: number): number[] {
  const { mix, word, turns } = rounds[step >> 4]!;
  const [a, b, c, d] = four.map((each) => vectorOf(group, sums + ((each + 64 - step) % 4))) as [
    number,
    number,
    number,
    number,
  ];
  const sine = Math.floor(Math.abs(Math.sin(step + 1)) * 2 ** 32);
  const turn = turns[step % 4]!;
  const sum = [
    ...get(a),
    ...get(vectorOf(group, words + word(step))),
    ...add,
    ...constant(sine),
    ...add,
    ...mix(b, c, d),
  ];
  const turned = [...tee(a), ...integer(turn), ...shiftLeft, ...get(a), ...integer(32 - turn), ...shiftRight, ...or];
  return [...sum, ...turned, ...get(b), ...add, ...set(a)];
}

const body = [
  ...listed([[groups.length * vectors, types.vector]]),
  ...eachSum((group, sum) => [...get(state), ...load(64 * group + 16 * sum), ...set(vectorOf(group, sums + sum))]),
  ...loop,
  ...groups.flatMap((group) => [0, 4, 8, 12].flatMap((first) => readWords(group, first))),
  ...eachSum((group, sum) => [...get(vectorOf(group, sums + sum)), ...set(vectorOf(group, before + sum))]),
  ...Array.from({ length: 64 }, (_, step) => groups.flatMap((group) => codeOfStep(group, step))).flat(),
  ...eachSum((group, sum) => {
    const it = vectorOf(group, sums + sum);
    return [...get(it), ...get(vectorOf(group, before + sum)), ...add, ...set(it)];
  }),
  ...Array.from({ length: laneCount }, (_, text) => texts + text).flatMap((text) => [
    ...get(text),
    ...integer(64),
    ...plus,
    ...set(text),
  ]),
  ...get(blocks),
  ...integer(1),
  ...minus,
  ...tee(blocks),
  ...branchIf,
  ...end,
  ...eachSum((group, sum) => [...get(state), ...get(vectorOf(group, sums + sum)), ...store(64 * group + 16 * sum)]),
  ...end,
];

/**
 * It imports a memory `env.memory` and exports `update(state, blocks, text0, ..., text7)`, all but `blocks` addresses: goes on with so
 * many blocks, at least one, of the eight texts. The state is that of the groups, of each the four sums, of each the numbers of the four
 * texts.
 */
export const md5LanesProgram = Uint8Array.from([
  0,
  ...Buffer.from('asm'),
  1,
  0,
  0,
  0,
  ...section(1, [[types.function, ...listed(Array.from({ length: locals }, () => [types.integer])), 0]]),
  ...section(2, [[...named('env'), ...named('memory'), types.memory, 0, 1]]),
  ...section(3, [[0]]),
  ...section(7, [[...named('update'), 0, 0]]),
  ...section(10, [sized(body)]),
]);
