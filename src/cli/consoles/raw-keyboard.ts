interface Typist {
  /** Answers whether more may follow at once. */
  typed(bytes: Buffer): boolean;
  ended(): void;
}

export interface RawKeyboard {
  /** Nothing more is read until it is resumed. */
  hold(): void;
  resume(): void;
  /** The terminal is as it was before. */
  restore(): void;
}

/** Signals that would leave the terminal raw. */
const ending = { SIGTERM: 143, SIGHUP: 129, SIGQUIT: 131 } as const;

/** Every key goes to `typed`, Ctrl-C too. However the process ends, the terminal is as it was before. */
export function rawKeyboard(isTerminal: boolean, { typed, ended }: Typist): RawKeyboard {
  const { stdin } = process;
  const restore = (): void => {
    if (isTerminal) stdin.setRawMode(false);
    stdin.pause();
    process.off('exit', restore);
    for (const [signal, leave] of leaving) process.off(signal, leave);
  };
  const leaving = Object.entries(ending).map(([signal, code]) => [signal, () => process.exit(code)] as const);
  process.on('exit', restore);
  for (const [signal, leave] of leaving) process.on(signal, leave);
  if (isTerminal) stdin.setRawMode(true);
  stdin.on('data', (bytes: Buffer) => {
    if (!typed(bytes)) stdin.pause();
  });
  stdin.once('end', ended);
  return {
    hold: () => void stdin.pause(),
    resume: () => void (stdin.isPaused() && stdin.resume()),
    restore,
  };
}
