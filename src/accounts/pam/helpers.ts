import { type ChildProcess, spawn } from 'node:child_process';
import { compileCache, programFile } from '../../core/home.ts';
import { type PamAnswer, type PamQuestion, isAnswer } from './messages.ts';

const program = programFile('accounts/pam/helper');
/** Milliseconds that a helper waits for the next question. */
const idleTime = 60_000;
const mostIdle = 2;

/** PAM did not answer in time, or the process that asked it has ended. */
export class PamHung extends Error {}

/** Processes that ask PAM, one question at a time each. One that takes too long is killed. */
export class PamHelpers {
  readonly #idle: { readonly child: ChildProcess; readonly timer: NodeJS.Timeout }[] = [];
  readonly #timeout: number;

  constructor(timeout: number) {
    this.#timeout = timeout;
  }

  async ask(question: PamQuestion): Promise<PamAnswer> {
    const waiting = this.#idle.pop();
    clearTimeout(waiting?.timer);
    const child = waiting?.child ?? start();
    try {
      const answer = await this.#answer(child, question);
      this.#rest(child);
      return answer;
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  close(): void {
    for (const { child, timer } of this.#idle.splice(0)) {
      clearTimeout(timer);
      child.kill('SIGKILL');
    }
  }

  #answer(child: ChildProcess, question: PamQuestion): Promise<PamAnswer> {
    return new Promise((resolve, reject) => {
      const settle = (done: () => void): void => {
        clearTimeout(timer);
        child.off('message', heard).off('exit', ended).off('error', failed);
        done();
      };
      const timer = setTimeout(
        () => settle(() => reject(new PamHung(`PAM has not answered within ${this.#timeout / 1_000} s`))),
        this.#timeout,
      );
      const heard = (message: unknown): void =>
        settle(() => (isAnswer.is(message) ? resolve(message) : reject(new PamHung('its helper was not understood'))));
      const ended = (): void => settle(() => reject(new PamHung('a module of PAM has ended the process')));
      const failed = (error: Error): void => settle(() => reject(error));
      child.on('message', heard).on('exit', ended).on('error', failed);
      child.send(question, (error) => error && failed(error));
    });
  }

  #rest(child: ChildProcess): void {
    if (this.#idle.length >= mostIdle) {
      child.kill('SIGKILL');
      return;
    }
    const timer = setTimeout(() => {
      this.#idle.splice(this.#idle.indexOf(entry), 1);
      child.kill('SIGKILL');
    }, idleTime).unref();
    const entry = { child, timer };
    this.#idle.push(entry);
    child.once('exit', () => {
      const at = this.#idle.indexOf(entry);
      if (at < 0) return;
      clearTimeout(timer);
      this.#idle.splice(at, 1);
    });
  }
}

/** Modules see nothing of the server's environment. */
function start(): ChildProcess {
  const child = spawn(process.execPath, [program], {
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', NODE_COMPILE_CACHE: compileCache },
    cwd: '/',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  // Without a question it keeps nobody from ending.
  child.unref();
  child.channel?.unref();
  child.on('error', () => undefined);
  return child;
}
