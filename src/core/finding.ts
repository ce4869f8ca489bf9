/** What a check has found, as `muster doctor` prints it. What is not well says how to mend it. */
export interface Finding {
  readonly well: boolean;
  readonly what: string;
  readonly text: string;
}

export const wellOf = (what: string, text: string): Finding => ({ well: true, what, text });
export const wrongOf = (what: string, text: string): Finding => ({ well: false, what, text });
