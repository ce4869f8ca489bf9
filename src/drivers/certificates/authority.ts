import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import type { Authority } from '../../access/issue-certificates.ts';
import type { SecretBox } from '../../access/secrets.ts';
import type { Origin } from '../../database/changeset.ts';
import { Draft, type Seal } from '../../database/draft.ts';
import type { Store } from '../../database/store.ts';

const table = 'bmcauthority';
const column = `${table}.privatekey`;
const name = 'muster';

/**
 * The authority that signs certificates of BMCs: one for all servers of a database, made when it is needed first. It is not the one of
 * muster itself, so that no BMC can have a certificate by which it could pass for muster.
 */
export class BmcAuthority {
  readonly #store: Store;
  readonly #seal: Seal;
  readonly #box: Pick<SecretBox, 'open'>;

  constructor(store: Store, seal: Seal, box: Pick<SecretBox, 'open'>) {
    this.#store = store;
    this.#seal = seal;
    this.#box = box;
  }

  /** Undefined: none was made yet. */
  get certificate(): X509Certificate | undefined {
    const text = this.#store.current.get(table, name)?.['certificate'];
    return text ? new X509Certificate(Buffer.from(text, 'base64')) : undefined;
  }

  async open(origin: Origin): Promise<Authority> {
    if (!this.certificate) await this.#make(origin);
    const { privatekey = '' } = this.#store.current.get(table, name) ?? {};
    const key = Buffer.from(this.#box.open(privatekey, column), 'base64');
    return { certificate: this.certificate!, key: createPrivateKey({ key, format: 'der', type: 'pkcs8' }) };
  }

  async #make(origin: Origin): Promise<void> {
    const { issueAuthority } = await import('../../access/issue-certificates.ts');
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    // One line each, as tables have it.
    const certificate = (await issueAuthority(privateKey, 'muster BMC CA')).raw.toString('base64');
    const privatekey = privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64');
    await this.#store.change(origin, (head) => {
      const draft = new Draft(head, this.#seal);
      // Another server may have been quicker.
      if (!head.get(table, name)) draft.merge(table, name, { name, certificate, privatekey });
      return draft.changes();
    });
  }
}
