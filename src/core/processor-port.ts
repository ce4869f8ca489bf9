const lowestPort = 100;
const highestPort = 65_535;

/** The port that bmcport means; undefined: the usual one, also for small numbers such as `2 0`, which choose a connector. False: neither. */
export function processorPort(text: string): number | undefined | false {
  const parts = text.trim().split(/[\s,]+/);
  if (text.trim() === '') return undefined;
  if (!parts.every((part) => /^(0|[1-9]\d{0,4})$/.test(part))) return false;
  const numbers = parts.map(Number);
  if (numbers.every((number) => number < lowestPort)) return undefined;
  const [port = 0, ...more] = numbers;
  return more.length === 0 && port <= highestPort ? port : false;
}

export const noProcessorPort = `is neither a network port (${lowestPort} to ${highestPort}) nor the choice of a connector (a number below ${lowestPort})`;
