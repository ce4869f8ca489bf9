/** What a source of accounts says of a person. */
export interface FoundAccount {
  /** What stays the same for this person and is never another's, such as the UUID of an entry; not the name. */
  readonly id: string;
  /** As `groupName` writes them. */
  readonly groups: readonly string[];
}

/** Whether something that a source needs works, for whoever looks after it. */
export interface SourceState {
  /** A server, or the part of this machine. */
  readonly name: string;
  /** What is wrong, without a full stop; undefined if it works. */
  readonly problem: string | undefined;
  /** What it does if it works. */
  readonly says: string;
}

/** Somebody who knows accounts: a directory, this machine, a provider of logins. What cannot be found out now is a Fault of kind 'unavailable'. */
export interface AccountSource {
  /** As the setting `accounts.sources` and the column `source` name it. */
  readonly name: string;
  /** The account as it is now; undefined if there is none, or it is disabled. */
  look(name: string): Promise<FoundAccount | undefined>;
  states(): Promise<readonly SourceState[]>;
  close(): void;
}

/** A source that checks passwords. */
export interface PasswordSource extends AccountSource {
  /** Whether somebody has the name there, also an account that is disabled: then the name is nobody else's. */
  has(name: string): Promise<boolean>;
  /** Undefined: it has no account of this name, so the next source is asked. `client`: the address that the password came from. */
  check(name: string, password: string, client: string): Promise<FoundAccount | 'wrong' | undefined>;
}

export const checksPasswords = (source: AccountSource): source is PasswordSource => 'check' in source;

/** Characters of names: what is written in no file, command or filter with another meaning, and has no other spelling. */
const accountPattern = /^[a-z0-9_][a-z0-9._@+-]{0,62}\$?$/;

/**
 * The one name of an account of the site: blanks around it and capital letters make no other account. Undefined: no account of the site is
 * called so.
 */
export function siteAccountName(text: string): string | undefined {
  const name = foldedName(text);
  return accountPattern.test(name) ? name : undefined;
}

/** Only ASCII is folded: other letters may become ASCII ones. */
export const foldedName = (text: string): string =>
  text.replaceAll(/^[ \t]+|[ \t]+$/g, '').replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
