// Puts the page together: what comes once a second goes to every section, what costs more is asked for at a pace.

import { ask, keepToken, Refused, Unanswered } from "./api.js";
import { byId, set, text } from "./dom.js";
import { Events, showWarnings } from "./events.js";
import { capital, duration, moment } from "./format.js";
import { Health } from "./health.js";
import { Limits } from "./limits.js";
import { entitle, stale } from "./parts.js";
import { Savings } from "./savings.js";
import { Signal } from "./signal.js";
import { Store } from "./store.js";
import { Streams } from "./streams.js";
import { Volumes } from "./volumes.js";

const LATE = 4;
const clock = () => Date.now() / 1000;

/**
 * Asks again and again, `pause()` seconds apart, while the page is looked at and the site answers; `now`: at once.
 * Where no answer came for LATE pauses, the elements named in `places` say of when they are.
 */
class Paced {
  constructor(refresh, pause, places) {
    this.refresh = refresh;
    this.pause = pause;
    this.places = places;
    this.timer = null;
    this.begun = clock();
    this.answered = null;
  }

  now = () => {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.turn(), 0);
  };

  async turn() {
    if (!document.hidden && signal.state === "live") await this.ask();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.turn(), this.pause() * 1000);
  }

  async ask() {
    try {
      await this.refresh();
      this.answered = clock();
      this.mark("");
    } catch (error) {
      note(error);
      const late = clock() - (this.answered ?? this.begun) > LATE * this.pause();
      if (late) this.mark(`${this.age}${error instanceof Refused ? `: ${error.message}` : ""}`);
    }
  }

  get age() {
    return this.answered === null ? "no answer yet" : `as of ${moment(this.answered)}`;
  }

  mark(words) {
    for (const place of this.places) stale(byId(place), words);
  }
}

/** A question that is not answered is asked again, and the section or the signal tells; all else is a defect here. */
function note(error) {
  if (!(error instanceof Refused || error instanceof Unanswered)) console.error(error);
}

const health = new Health();
const limits = new Limits();
const store = new Store();
const volumes = new Volumes();
const events = new Events();
const savings = new Savings(() => past.now());
const streams = new Streams(() => paced.streams.now());

async function refreshStatus() {
  const status = await ask("/status", { streams: "none" });
  limits.showStatus(status);
  volumes.showStatus(status);
  streams.showStatus(status);
  savings.showStatus(status);
}

const past = new Paced(
  () => savings.refresh(),
  () => savings.pause,
  ["savings"],
);
const paced = {
  status: new Paced(refreshStatus, () => 5, ["waits-panel", "shares-panel", "volumes"]),
  streams: new Paced(
    () => streams.refresh(),
    () => 4,
    ["streams"],
  ),
  store: new Paced(
    async () => store.show(await ask("/store")),
    () => 10,
    ["store"],
  ),
  events: new Paced(
    () => events.refresh(),
    () => 1,
    ["events"],
  ),
};

function showLive(live) {
  text(byId("site"), live.site);
  text(byId("about"), `version ${live.version}, up ${duration(live.uptime_seconds)}`);
  health.show(live);
  savings.show(live);
  limits.show(live);
  streams.show(live);
  showWarnings(live);
  events.newest = live.last_event;
}

function showState(state, heard, problem) {
  const since = heard === null ? "" : ` since ${moment(heard)}`;
  const words = {
    live: "live",
    waiting: "connecting",
    refused: "a token is needed",
    lost: `no answer${since}`,
  }[state];
  const banner = before(state, since, problem);
  document.body.dataset.signal = state;
  set(byId("signal"), "data-state", state);
  text(byId("signal"), words);
  set(byId("give-token"), "hidden", state !== "refused");
  set(byId("lost"), "hidden", !banner);
  text(byId("lost"), banner);
  text(byId("alert"), banner);
  if (state !== "live") entitle(capital(words), byId("site").textContent);
  if (state === "live") {
    byId("token-dialog").close();
    events.renew();
    everything();
  }
  if (state === "refused") askForToken(problem);
}

/** Why what is below is from before; nothing if it is not. */
function before(state, since, problem) {
  const detail = problem || "The site process has ended, or it cannot be reached";
  if (state === "lost") return `No answer${since}. ${detail}; what is below is from before.`;
  return state === "refused" && since ? `Nothing new${since}: ${problem}. What is below is from before.` : "";
}

function everything() {
  for (const each of [past, ...Object.values(paced)]) each.now();
}

function askForToken(problem) {
  const given = byId("token").value !== "";
  text(byId("token-problem"), given ? problem : "");
  byId("token").value = "";
  if (!byId("token-dialog").open) byId("token-dialog").showModal();
}

byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  keepToken(byId("token").value);
  byId("token-dialog").close();
  signal.retry();
});
byId("give-token").addEventListener("click", () => askForToken(""));
document.addEventListener("visibilitychange", () => document.hidden || everything());

const signal = new Signal({ onLive: showLive, onEvent: (event) => events.add([event]), onState: showState });
signal.run();
