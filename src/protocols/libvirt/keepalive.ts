import { keepaliveProcedures } from './procedures.ts';

const usualInterval = 5_000;
const unansweredPings = 5;

/** Answers the signs of life that the other side asks for, and asks for some when it is silent. */
export class Keepalive {
  readonly #interval: number;
  readonly #send: (procedure: number) => void;
  readonly #silent: (milliseconds: number) => void;
  #timer: NodeJS.Timeout | undefined;
  #pings = 0;
  #hasHeard = false;

  constructor(send: (procedure: number) => void, silent: (milliseconds: number) => void, interval = usualInterval) {
    this.#send = send;
    this.#silent = silent;
    this.#interval = interval;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#look(), this.#interval).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  heard(): void {
    this.#hasHeard = true;
  }

  take(procedure: number): void {
    if (procedure === keepaliveProcedures.ping) this.#send(keepaliveProcedures.pong);
  }

  #look(): void {
    if (this.#hasHeard) {
      this.#hasHeard = false;
      this.#pings = 0;
    } else if (this.#pings === unansweredPings) {
      this.#silent(this.#interval * (unansweredPings + 1));
    } else {
      this.#pings++;
      this.#send(keepaliveProcedures.ping);
    }
  }
}
