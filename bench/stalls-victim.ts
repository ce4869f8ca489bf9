/** What is attacked, and the tokens of those who attack. */
export interface Victim {
  readonly port: number;
  /** Where machines boot from. */
  readonly boot: { readonly http: number; readonly tftp: number };
  /** Of an account that may do everything, of one that no rule speaks of, and of one that may change the nodes of a range. */
  readonly tokens: Readonly<Record<'root' | 'nobody' | 'limited', string>>;
}

export type ActMessage = { readonly victim: Victim } | { readonly act: string };

/** What firmware asks for by TFTP. */
export const loader = 'undionly.kpxe';

/** Where the hostile BMC is, and the node that has it. */
export const hostileAddress = '127.87.0.1';
export const hostileNode = 'hostile';
