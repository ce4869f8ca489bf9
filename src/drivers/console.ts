/** The serial console of a machine. */
export interface Console {
  /**
   * Opens it. With `takeOver` whoever has it loses it; without, a console that somebody else has is a Fault of kind `conflict` whose
   * sentence says who, as far as the hardware knows, and how to take it over. The signal ends the opening, not what was opened.
   */
  open(options: ConsoleOptions, signal: AbortSignal): Promise<OpenConsole>;
}

export interface ConsoleOptions {
  readonly takeOver: boolean;
  /** The session of one of ours that was lost: if the hardware still has that, it is taken over too. */
  readonly lost?: number | undefined;
  /** Every byte that the machine prints, from the first moment on, in the order of the machine. */
  output(bytes: Uint8Array): void;
  /** So many bytes of output were left out on the way. */
  cut?(bytes: number): void;
  /** Called once, when it is closed: with the reason if it was not we who closed it. Nothing comes after it. */
  closed(reason?: Error): void;
}

export interface OpenConsole {
  /** How it is reached, for people: `SOL 10.0.0.5`, `SSH 10.0.0.5:2200`, `libvirt kvm1`. */
  readonly way: string;
  /** What the hardware calls the session, where it says who has its console. */
  readonly session?: number | undefined;
  /** Bytes typed, in their order. Resolves when the hardware has taken them: whoever writes waits for that before more. */
  write(bytes: Uint8Array): Promise<void>;
  /** A break on the line; a Fault where the hardware has none. */
  sendBreak(): Promise<void>;
  /** Ends it, so that another can open it. */
  close(): Promise<void>;
}
