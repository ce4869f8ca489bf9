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
  /** Its virtual machine was made; `mac` if addresses were made for it, `master` if it was made from one. */
  | {
      readonly kind: 'machine';
      readonly uuid: string;
      readonly mac?: string | undefined;
      readonly master?: string | undefined;
    }
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
  /** Its virtual machine has another number of processors or size of memory now, or disks no longer. */
  | {
      readonly kind: 'machine-changed';
      readonly cpus?: string | undefined;
      readonly memory?: string | undefined;
      readonly deleted: readonly string[];
    }
  /** Something that muster did not make is being removed by force. */
  | { readonly kind: 'foreign-removed'; readonly what: string }
  /** Its sshd has shown its first host key. */
  | { readonly kind: 'host-key'; readonly key: string };

/** How far the update of a node is. */
export type UpdateState = 'syncing' | 'synced' | 'failed';
