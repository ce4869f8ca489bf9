import { Fault } from '../../../core/errors.ts';
import { defaultConnectTimeout, type OpenOptions, type Target, type Transport } from '../target.ts';
import { SftpRefusal, SftpSession, statuses } from './session.ts';
import { type Attributes, type RemotePath, requests, RequestWriter } from './wire.ts';

export const shown = (path: RemotePath): string => (typeof path === 'string' ? path : path.toString());

interface Entry {
  readonly name: Buffer;
  /** Of a link itself. */
  readonly attributes: Attributes;
}

/** The files of a node, as the user who logged in sees them. */
export class RemoteFiles {
  readonly session: SftpSession;

  constructor(session: SftpSession) {
    this.session = session;
  }

  static async open(transport: Transport, target: Target, options: OpenOptions): Promise<RemoteFiles> {
    const stream = await transport.subsystem(target, 'sftp', options);
    const { connectTimeout = defaultConnectTimeout, signal } = options;
    return new RemoteFiles(await SftpSession.open(stream, connectTimeout, signal));
  }

  /** Undefined if there is nothing of that name. */
  stat(path: RemotePath): Promise<Attributes | undefined> {
    return this.#attributes(requests.stat, path);
  }

  /** As stat, but of a link itself. */
  lstat(path: RemotePath): Promise<Attributes | undefined> {
    return this.#attributes(requests.lstat, path);
  }

  async setAttributes(path: RemotePath, attributes: Attributes): Promise<void> {
    await this.#ask(requests.setstat, path, `${shown(path)} could not be changed`, (request) =>
      request.attributes(attributes),
    );
  }

  /** What is in a directory, up to so many names. */
  async list(path: RemotePath, most: number): Promise<Entry[]> {
    const what = `directory ${shown(path)} could not be read`;
    const handle = Buffer.from((await this.#ask(requests.opendir, path, what)).bytes());
    const found: Entry[] = [];
    try {
      while (found.length < most) {
        const answer = await this.#ask(requests.readdir, handle, what);
        for (let left = answer.word(); left > 0; left--) {
          const name = Buffer.from(answer.bytes());
          // As a program would list it.
          answer.bytes();
          found.push({ name, attributes: answer.attributes() });
        }
      }
    } catch (error) {
      if (!(error instanceof SftpRefusal && error.status === statuses.endOfFile)) throw error;
    } finally {
      await this.#ask(requests.close, handle, what);
    }
    return found;
  }

  async makeDirectory(path: RemotePath, mode: number): Promise<void> {
    await this.#ask(requests.mkdir, path, `directory ${shown(path)} could not be made`, (request) =>
      request.attributes({ mode }),
    );
  }

  async remove(path: RemotePath): Promise<void> {
    await this.#ask(requests.remove, path, `${shown(path)} could not be removed`);
  }

  async makeLink(path: RemotePath, destination: RemotePath): Promise<void> {
    // OpenSSH has them in this order, contrary to the draft.
    const request = new RequestWriter().bytes(destination).bytes(path);
    await this.session.ask(requests.symlink, request, `link ${shown(path)} could not be made`);
  }

  async readLink(path: RemotePath): Promise<Buffer> {
    const answer = await this.#ask(requests.readlink, path, `link ${shown(path)} could not be read`);
    if (answer.word() !== 1) throw new Fault('garbled', 'its SFTP server did not answer with one name.');
    return Buffer.from(answer.bytes());
  }

  /** Puts a file in the place of another in one step, where the server can. */
  async rename(from: RemotePath, to: RemotePath): Promise<void> {
    const what = `${shown(from)} could not be renamed to ${shown(to)}`;
    if (this.session.extensions.has('posix-rename@openssh.com')) {
      const request = new RequestWriter().bytes('posix-rename@openssh.com').bytes(from).bytes(to);
      await this.session.ask(requests.extended, request, what);
      return;
    }
    const request = (): RequestWriter => new RequestWriter().bytes(from).bytes(to);
    try {
      await this.session.ask(requests.rename, request(), what);
    } catch (error) {
      // The plain one refuses when the name is taken.
      if (!(error instanceof SftpRefusal)) throw error;
      await this.remove(to);
      await this.session.ask(requests.rename, request(), what);
    }
  }

  /** Free bytes of the file system that holds a path, where the server reports it. */
  async free(path: RemotePath): Promise<number | undefined> {
    if (!this.session.extensions.has('statvfs@openssh.com')) return undefined;
    const request = new RequestWriter().bytes('statvfs@openssh.com').bytes(path);
    const answer = await this.session.ask(requests.extended, request, `${shown(path)} has no file system`);
    answer.long();
    const fragment = answer.long();
    answer.long();
    answer.long();
    return fragment * answer.long();
  }

  close(timeout?: number): void {
    this.session.close(timeout);
  }

  async #attributes(type: number, path: RemotePath): Promise<Attributes | undefined> {
    try {
      return (await this.#ask(type, path, `${shown(path)} could not be looked at`)).attributes();
    } catch (error) {
      if (error instanceof SftpRefusal && error.status === statuses.noSuchFile) return undefined;
      throw error;
    }
  }

  #ask(type: number, path: RemotePath, what: string, more = (request: RequestWriter): RequestWriter => request) {
    return this.session.ask(type, more(new RequestWriter().bytes(path)), what);
  }
}
