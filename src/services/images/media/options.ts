import { Fault } from '../../../core/errors.ts';
import { checkArch, parseName } from './recognise.ts';

/** What `params` of a request ask for. */
export interface CopyOptions {
  readonly name?: string | undefined;
  readonly arch?: string | undefined;
  readonly path?: string | undefined;
  readonly inspect?: boolean | undefined;
  readonly noosimage?: boolean | undefined;
  readonly nonoverwrite?: boolean | undefined;
}

/** Names and flags of the reference system's command. */
const known = [
  { option: 'name', flags: ['-n', '--osver'], isSwitch: false },
  { option: 'arch', flags: ['-a', '--arch'], isSwitch: false },
  { option: 'path', flags: ['-p', '--path'], isSwitch: false },
  { option: 'inspect', flags: ['-i', '--inspection'], isSwitch: true },
  { option: 'noosimage', flags: ['-o', '--noosimage'], isSwitch: true },
  { option: 'nonoverwrite', flags: ['-w', '--nonoverwrite'], isSwitch: true },
] as const;

type Params = readonly Readonly<Record<string, unknown>>[];

export function readCopyOptions(params: Params): CopyOptions {
  const options: Record<string, string | boolean> = {};
  for (const [key, value] of params.flatMap((each) => Object.entries(each))) {
    const found = known.find(({ option, flags }) => option === key || flags.some((flag) => flag === key));
    if (!found) throw unknownOption(key);
    if (Object.hasOwn(options, found.option)) throw new Fault('invalid', `params give ${found.option} twice.`);
    options[found.option] = found.isSwitch ? switchOf(key, value) : textOf(key, value);
  }
  const { name, arch } = options;
  if (typeof name === 'string') parseName(name);
  return { ...options, ...(typeof arch === 'string' ? { arch: checkArch(arch) } : {}) };
}

/** As the reference system writes them. */
export const optionWords = (options: CopyOptions): string[] =>
  known.flatMap(({ option, flags }) => {
    const value = options[option];
    return value === undefined || value === false ? [] : value === true ? [flags[0]] : [flags[0], value];
  });

function textOf(key: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new Fault('invalid', `params: ${key} needs a value, a text.`);
}

/** A flag is on by being there. */
function switchOf(key: string, value: unknown): boolean {
  if (value === '' || value === null || value === true || value === '1' || value === 1 || value === 'yes') return true;
  if (value === false || value === '0' || value === 0 || value === 'no') return false;
  throw new Fault('invalid', `params: ${key} is a switch; give "" or true.`);
}

function unknownOption(key: string): Fault {
  const names = known.map(({ option, flags }) => `${flags[0]} (${option})`).join(', ');
  return new Fault(
    'invalid',
    `params: ${JSON.stringify(key.slice(0, 100))} is not an option of copycds; known are ${names}.`,
  );
}
