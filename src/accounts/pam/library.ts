import koffi from 'koffi';

/** Numbers of Linux-PAM. */
export const pamCodes = {
  success: 0,
  buffer: 5,
  authentication: 7,
  unknownUser: 10,
  conversation: 19,
} as const;
const styles = { hidden: 1, shown: 2, error: 3, text: 4 } as const;
const items = { remoteHost: 4, user: 2, failDelay: 10 } as const;
const flags = { silent: 0x8000, disallowNull: 0x1 } as const;
const mostPrompts = 32;
/** `struct pam_response`: a pointer and a number, in the space of two pointers. */
const responseSize = 16;

interface Message {
  readonly style: number;
}

interface PamResult {
  readonly step: 'start' | 'authenticate' | 'account';
  readonly code: number;
  readonly says: string;
}

const loaded = () => {
  const message = koffi.struct('muster_pam_message', { style: 'int', text: 'void *' });
  const converse = koffi.proto('int muster_pam_converse(int count, void *messages, void *responses, void *data)');
  const conversation = koffi.struct('muster_pam_conv', { converse: koffi.pointer(converse), data: 'void *' });
  const delay = koffi.proto('void muster_pam_delay(int status, unsigned int microseconds, void *data)');
  const pam = koffi.load('libpam.so.0');
  const libc = koffi.load('libc.so.6');
  return {
    message,
    converse,
    conversation,
    delay,
    setDelay: pam.func('int pam_set_item(void *handle, int item, muster_pam_delay *value)'),
    start: pam.func('int pam_start(const char *service, const char *user, muster_pam_conv *conv, _Out_ void **handle)'),
    setItem: pam.func('int pam_set_item(void *handle, int item, const char *value)'),
    getItem: pam.func('int pam_get_item(void *handle, int item, _Out_ const char **value)'),
    authenticate: pam.func('int pam_authenticate(void *handle, int flags)'),
    account: pam.func('int pam_acct_mgmt(void *handle, int flags)'),
    error: pam.func('const char *pam_strerror(void *handle, int code)'),
    end: pam.func('int pam_end(void *handle, int status)'),
    calloc: libc.func('void *calloc(size_t count, size_t size)'),
    duplicate: libc.func('void *strdup(const char *text)'),
    prctl: libc.func('int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)'),
  };
};
let library: ReturnType<typeof loaded> | undefined;
export const pamLibrary = (): ReturnType<typeof loaded> => (library ??= loaded());

const dieWithParent = 1;
const sigkill = 9;

/** This process ends when the one that started it does, even in the middle of a module that hangs. */
export const endWithParent = (): void => void pamLibrary().prctl(dieWithParent, sigkill, 0, 0, 0);

/** Answers the first question that hides what is typed with the password. Modules that ask for more get nothing, which refuses the login. */
function answersTo(password: string | undefined): (count: number, messages: unknown, responses: unknown) => number {
  const pam = pamLibrary();
  let left = password;
  return (count, messages, responses) => {
    if (count < 1 || count > mostPrompts) return pamCodes.conversation;
    const made = pam.calloc(count, responseSize) as unknown;
    if (made === null) return pamCodes.buffer;
    for (let i = 0; i < count; i++) {
      const at = koffi.decode(messages, i * 8, 'void *') as unknown;
      const { style } = koffi.decode(at, pam.message) as Message;
      if (style === styles.error || style === styles.text) continue;
      if (style !== styles.hidden || left === undefined) return pamCodes.conversation;
      koffi.encode(made, i * responseSize, 'void *', pam.duplicate(left));
      left = undefined;
    }
    koffi.encode(responses, 'void *', made);
    return pamCodes.success;
  };
}

interface Asked {
  readonly service: string;
  readonly user: string;
  /** Absent: only whether the account may be used. */
  readonly password: string | undefined;
  readonly client: string | undefined;
}

/** Asks PAM, and waits for it. */
export function askPam({ service, user, password, client }: Asked): PamResult {
  const pam = pamLibrary();
  const converse = koffi.register(answersTo(password), koffi.pointer(pam.converse));
  // The throttle of logins slows down guessing. Here a delay would hold up others.
  const delay = koffi.register(() => undefined, koffi.pointer(pam.delay));
  const handle: [unknown] = [null];
  let code = pam.start(service, user, { converse, data: null }, handle) as number;
  const says = (): string => String(pam.error(handle[0], code));
  try {
    if (code !== pamCodes.success) return { step: 'start', code, says: says() };
    pam.setDelay(handle[0], items.failDelay, delay);
    if (client !== undefined) pam.setItem(handle[0], items.remoteHost, client);
    const silent = flags.silent | flags.disallowNull;
    if (password !== undefined) {
      code = pam.authenticate(handle[0], silent) as number;
      if (code !== pamCodes.success) return { step: 'authenticate', code, says: says() };
    }
    code = pam.account(handle[0], silent) as number;
    const called: [string | null] = [null];
    pam.getItem(handle[0], items.user, called);
    // A module may have let in somebody else.
    if (code === pamCodes.success && called[0] !== user) code = pamCodes.authentication;
    return { step: 'account', code, says: says() };
  } finally {
    if (handle[0] !== null) pam.end(handle[0], code);
    koffi.unregister(converse);
    koffi.unregister(delay);
  }
}
