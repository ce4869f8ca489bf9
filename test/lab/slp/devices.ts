/** What the responder is to play. */
export interface LabDevice {
  readonly address: string;
  /** Type of service and its attributes; several make several services. */
  readonly services: readonly {
    readonly type: string;
    readonly attributes: string;
    readonly host?: string;
    readonly url?: string;
  }[];
  /** Requests to all that it does not hear at first, as if they were lost. */
  readonly deaf?: number;
  /** Hears multicast only, or broadcast only. */
  readonly hears?: 'multicast' | 'broadcast';
  /** Tells in a datagram only this many services and that there are more. */
  readonly fits?: number;
  /** Plays a directory agent for its services. */
  readonly directory?: boolean;
  /** Sends each reply to a request to all this many times, and does not look at the list of previous responders. */
  readonly floods?: number;
  /** Answers searches for Redfish services, with this UUID. */
  readonly redfish?: string;
  /** Answers them with these packets instead, each character a byte. */
  readonly ssdp?: readonly string[];
  /** Answers every request for services, whatever type it is for, with all it has. */
  readonly answersAll?: boolean;
}

/** What the responder has seen. */
export interface Seen {
  readonly multicasts: number;
  readonly broadcasts: number;
  readonly unicasts: number;
  readonly connections: number;
  /** Of the longest list of previous responders, its length; and of the longest request. */
  readonly mostPrevious: number;
  readonly longest: number;
}
