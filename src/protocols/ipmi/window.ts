/** IPMI 2.0 6.12.13: which sequence numbers of received packets are still taken, each once. */
const behind = 16;
const ahead = 15;

export interface Window {
  /** The highest number taken; 0 before the first. */
  highest: number;
  /** Bit n: the number n below the highest has been taken. */
  taken: number;
}

export function newWindow(): Window {
  return { highest: 0, taken: 0 };
}

/** Whether the number would be taken. The first of a session is taken whatever it is: its packet proved to be made with the session's key. */
export function inWindow(window: Window, sequence: number): boolean {
  if (sequence === 0) return false;
  if (window.highest === 0) return true;
  const distance = (sequence - window.highest) | 0;
  if (distance > 0) return distance <= ahead;
  return distance >= -behind && (window.taken & (1 << -distance)) === 0;
}

/** Takes a number that is in the window. */
export function take(window: Window, sequence: number): void {
  const distance = window.highest === 0 ? ahead + 1 : (sequence - window.highest) | 0;
  if (distance > 0) {
    window.taken = distance > ahead ? 1 : (window.taken << distance) | 1;
    window.highest = sequence;
  } else {
    window.taken |= 1 << -distance;
  }
}

/** The number after this one; 0 is kept for packets outside a session. */
export function following(sequence: number): number {
  return sequence >= 0xffffffff ? 1 : sequence + 1;
}
