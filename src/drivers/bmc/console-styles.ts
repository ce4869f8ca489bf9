/** How the serial console of a machine is reached over SSH to its BMC. */
export interface ConsoleStyle {
  /** The command that opens it, where the BMC has a command line of its own; absent: it is there at once. */
  readonly enter?: string | undefined;
  /** The command that takes it from whoever has it. */
  readonly kill?: string | undefined;
  /** What the BMC says when somebody else has it, in lower case. */
  readonly inUse?: readonly string[] | undefined;
  /** The keys that lead back to the command line of the BMC. */
  readonly leave?: string | undefined;
  /** The keys that send a break. */
  readonly breakKeys?: string | undefined;
}

const escapeParenthesis = '\x1b(';
const occupied = ['in use', 'already active', 'another session', 'busy'] as const;

/** By the kind of BMC. */
export const consoleStyles = {
  openbmc: { leave: '\r~.', breakKeys: '\r~B' },
  ilo: { enter: 'vsp', kill: 'stop /system1/oemhp_vsp1', inUse: occupied, leave: escapeParenthesis },
  xcc: { enter: 'console 1', kill: 'console kill 1', inUse: occupied, leave: escapeParenthesis },
  idrac: { enter: 'console com2', inUse: occupied, leave: '\x1c' },
  supermicro: { enter: 'cd /system1/sol1\rstart', inUse: occupied, leave: '\r\x1bT' },
} as const satisfies Readonly<Record<string, ConsoleStyle>>;

/** By words in the name of the manufacturer, in lower case. */
const vendors: readonly (readonly [word: string, style: ConsoleStyle])[] = [
  ['openbmc', consoleStyles.openbmc],
  ['hpe', consoleStyles.ilo],
  ['hewlett', consoleStyles.ilo],
  ['lenovo', consoleStyles.xcc],
  ['dell', consoleStyles.idrac],
  ['supermicro', consoleStyles.supermicro],
  ['super micro', consoleStyles.supermicro],
];

export function styleOfVendor(names: readonly (string | undefined)[]): ConsoleStyle | undefined {
  const all = names.join(' ').toLowerCase();
  return vendors.find(([word]) => all.includes(word))?.[1];
}
