/** What work on a node has found or brought about. Plain data: the work may be done by a process without a database. */
export type Effect =
  /** What a command has made the node do, such as `powering-on`. */
  | { readonly kind: 'status'; readonly status: string }
  /** What its power is. */
  | { readonly kind: 'power'; readonly power: string }
  /** What somebody has looked at the node for; `applications` as `appstatus` keeps them. */
  | { readonly kind: 'sighting'; readonly status: string; readonly applications: string }
  | { readonly kind: 'update'; readonly state: UpdateState }
  /** Its BMC has another address now. */
  | { readonly kind: 'moved'; readonly from: string; readonly to: string }
  /** Its BMC has shown its first certificate. */
  | { readonly kind: 'certificate'; readonly fingerprint: string }
  /** Its virtual machine was made on that host; `mac` if addresses were made for it, `master` if it was made from one. */
  | {
      readonly kind: 'machine';
      readonly host: string;
      readonly uuid: string;
      readonly mac?: string | undefined;
      readonly master?: string | undefined;
    }
  /** Its virtual machine was removed from that host. */
  | { readonly kind: 'machine-removed'; readonly host: string }
  /** Its virtual machine is being moved to another hypervisor. */
  | { readonly kind: 'migrating'; readonly to: string }
  /** Its virtual machine is on another hypervisor now. */
  | { readonly kind: 'migrated'; readonly to: string }
  /** A master was made of its virtual machine. */
  | {
      readonly kind: 'master';
      /** Of the machine, and of those that can be made from it. */
      readonly driver: string;
      readonly name: string;
      readonly storage: string;
      readonly storageModel?: string | undefined;
      readonly definition?: string | undefined;
    }
  /** How far the work is. */
  | { readonly kind: 'progress'; readonly sentence: string }
  /** Its virtual machine has another number of processors or size of memory now, or has lost disks. */
  | {
      readonly kind: 'machine-changed';
      readonly cpus?: string | undefined;
      readonly memory?: string | undefined;
      readonly lost: readonly string[];
    }
  /** Something that muster did not make is being removed by force. */
  | { readonly kind: 'foreign-removed'; readonly what: string }
  /** Its BMC, which is that device, is about to get firmware, or has it; null: nothing is under way there any more. */
  | {
      readonly kind: 'firmware';
      readonly device: string;
      readonly trace: FirmwareTrace | null;
      /** What was known of the device when the work on it began: it is not begun if that is another now. */
      readonly seen?: FirmwareTrace | null;
    }
  /** Its BMC is about to get the medium that was made ready under this number, into that drive; without a drive it was taken out. */
  | { readonly kind: 'media'; readonly medium: string; readonly drive?: string | undefined }
  /** Its sshd has shown its first host key. */
  | { readonly kind: 'host-key'; readonly key: string };

/** What is known of an update that was sent, or is about to be. Plain data. */
export interface FirmwareTrace {
  /** What was sent: the same for the same file or address, component and time. */
  readonly key: string;
  /** The file or address, for people. */
  readonly what: string;
  /** `sending`: the hardware may have it. `sent`: it has said so. `staged`: it waits for its time. */
  readonly step: 'sending' | 'sent' | 'staged';
  /** Where the hardware reports on it. */
  readonly task?: string | undefined;
  /** The versions before it, by component. */
  readonly before: Readonly<Record<string, string>>;
}

/** How far the update of a node is. */
export type UpdateState = 'syncing' | 'synced' | 'failed';
