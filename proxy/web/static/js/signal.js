// Whether the site answers. It speaks once a second; silence for longer than SILENCE_MS is an outage, and said so.

import { listen, Refused } from "./api.js";

const SILENCE_MS = 2300;
const RETRY_MS = 1000;
const ASK_AGAIN_MS = 30000;
const TRY_MS = 5000;
const CHECK_MS = 200;

export class Signal {
  /** `onLive(data)` and `onEvent(data)` get what the site says, `onState(state, lastHeard, error)` each change. */
  constructor({ onLive, onEvent, onState }) {
    this.onLive = onLive;
    this.onEvent = onEvent;
    this.onState = onState;
    this.state = "waiting";
    this.heard = null;
    this.opened = performance.now();
    this.refused = null;
    this.problem = "";
    setInterval(() => this.check(), CHECK_MS);
  }

  /** Listen for ever, again and again. */
  async run() {
    for (;;) {
      const attempt = new AbortController();
      this.attempt = attempt;
      this.opened = performance.now();
      try {
        await listen((name, data) => this.take(name, data), attempt.signal);
      } catch (error) {
        this.refused = error instanceof Refused ? error : null;
        this.change(this.refused?.status === 401 ? "refused" : "lost");
      }
      await this.pause(this.state === "refused" ? ASK_AGAIN_MS : RETRY_MS);
    }
  }

  /** Until it is time for the next attempt, or `retry` says so. */
  pause(ms) {
    return new Promise((resolve) => {
      this.resume = resolve;
      setTimeout(resolve, ms);
    });
  }

  /** Try again: there is a token now. */
  retry() {
    this.state = "waiting";
    this.resume?.();
  }

  take(name, data) {
    this.heard = { at: performance.now(), clock: Date.now() / 1000 };
    this.refused = null;
    if (name === "live") {
      this.change("live");
      this.onLive(data);
    } else if (name === "event") {
      this.onEvent(data);
    }
  }

  check() {
    const silent = performance.now() - Math.max(this.heard?.at ?? 0, this.opened);
    if (silent > SILENCE_MS && this.state !== "refused") this.change("lost");
    if (silent > TRY_MS) this.attempt?.abort();
  }

  change(state) {
    const problem = this.refused?.message ?? "";
    if (state === this.state && problem === this.problem) return;
    this.state = state;
    this.problem = problem;
    this.onState(state, this.heard?.clock ?? null, problem);
  }
}
