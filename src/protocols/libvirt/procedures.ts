/** The calls of libvirt's program `remote` that are used, by its numbers. */
export const procedures = {
  connectOpen: 1,
  connectGetCapabilities: 7,
  domainGetXml: 14,
  domainLookupByName: 23,
  domainLookupByUuid: 24,
  domainResume: 28,
  connectSupportsFeature: 60,
  authList: 66,
  storagePoolCreateXml: 76,
  storagePoolRefresh: 83,
  storagePoolLookupByName: 84,
  storageVolCreateXml: 93,
  storageVolDelete: 94,
  storageVolLookupByName: 95,
  storageVolGetPath: 100,
  domainCreateWithFlags: 196,
  domainInjectNmi: 210,
  domainGetState: 212,
  domainUndefineFlags: 231,
  domainDestroyFlags: 234,
  domainReset: 245,
  domainShutdownFlags: 258,
  connectListAllDomains: 273,
  eventRegister: 316,
  connectGetAllDomainStats: 344,
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

/** Numbers of errors that something is made of; the others are told in libvirt's words. */
export const errorCodes = {
  noDomain: 42,
  noStoragePool: 49,
  noStorageVolume: 50,
  operationInvalid: 55,
  storageVolumeExists: 90,
} as const;
