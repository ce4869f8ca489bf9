/** The calls of libvirt's program `remote` that are used, by its numbers. */
export const procedures = {
  connectOpen: 1,
  domainGetXml: 14,
  domainLookupByName: 23,
  domainLookupByUuid: 24,
  domainResume: 28,
  domainSuspend: 34,
  connectSupportsFeature: 60,
  authList: 66,
  storagePoolCreateXml: 76,
  storagePoolRefresh: 83,
  storagePoolLookupByName: 84,
  storagePoolGetInfo: 87,
  storagePoolGetXml: 88,
  storageVolCreateXml: 93,
  storageVolDelete: 94,
  storageVolLookupByName: 95,
  storageVolGetInfo: 98,
  storageVolGetXml: 99,
  storageVolGetPath: 100,
  storageVolCreateXmlFrom: 125,
  domainAttachDeviceFlags: 160,
  domainDetachDeviceFlags: 161,
  domainAbortJob: 164,
  domainSnapshotCreateXml: 185,
  domainSnapshotGetXml: 186,
  domainSnapshotLookupByName: 189,
  domainRevertToSnapshot: 192,
  domainSnapshotDelete: 193,
  domainGetBlockInfo: 194,
  domainCreateWithFlags: 196,
  domainSetVcpusFlags: 199,
  domainSetMemoryFlags: 204,
  domainInjectNmi: 210,
  domainGetState: 212,
  domainUndefineFlags: 231,
  domainDestroyFlags: 234,
  domainBlockJobAbort: 237,
  domainGetBlockJobInfo: 238,
  domainReset: 245,
  domainBlockResize: 251,
  domainShutdownFlags: 258,
  storageVolResize: 260,
  connectListAllDomains: 273,
  domainListAllSnapshots: 274,
  storagePoolListAllVolumes: 282,
  domainGetJobStats: 298,
  domainMigrateBegin3Params: 302,
  domainMigratePrepare3Params: 303,
  domainMigratePerform3Params: 305,
  domainMigrateFinish3Params: 306,
  domainMigrateConfirm3Params: 307,
  eventRegister: 316,
  connectGetAllDomainStats: 344,
  domainBlockCopy: 345,
  domainDefineXmlFlags: 350,
  storagePoolLookupByTargetPath: 391,
} as const;

/** Events come with procedures of their own. */
export const eventProcedures = { lifecycle: 318 } as const;
/** What is registered for. */
export const eventKinds = { lifecycle: 0 } as const;

export const keepaliveProcedures = { ping: 1, pong: 2 } as const;
/** What a daemon is asked whether it has it. */
export const features = { keepalive: 10 } as const;
export const authentications = { none: 0, sasl: 1, polkit: 2 } as const;

/** Numbers of errors that something is made of; the others are reported in libvirt's words. */
export const errorCodes = {
  noDomain: 42,
  noStoragePool: 49,
  noStorageVolume: 50,
  operationInvalid: 55,
  noDomainSnapshot: 72,
  storageVolumeExists: 90,
} as const;
