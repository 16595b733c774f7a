// Is replication healthy, and if not, what is wrong?

import { byId, list, record, set, text } from "./dom.js";
import { DASH, capital, count, duration, introduced, latency, moment, percent, rate, size } from "./format.js";
import { limitedMost } from "./limits.js";
import { badge, drawing, entitle, LEVELS, levelWord, notes } from "./parts.js";
import { Table } from "./table.js";

const HEADLINES = {
  healthy: "Replication is healthy",
  attention: "Replication works; something needs attention",
  degraded: "Replication is degraded",
  critical: "Nothing is replicated",
};
const AT_RISK = "Replication goes on, but may not for long";
const STARTING = "Starting: there is no tunnel yet";
const WAITING = "Nothing is replicated until a site is back that has ended in order";
const ENDED = "IST-115";

export class Health {
  constructor() {
    this.ladder = new Table(
      byId("ladder"),
      [
        { name: "Part", value: (row) => [row.name, row.under] },
        { name: "State", draw: (cell, row) => badge(cell, row.level) },
        { name: "Since", whole: true, value: (row) => moment(row.since) },
        { name: "Round trip", number: true, value: (row) => (row.link ? latency(row.link.round_trip_seconds) : "") },
        { name: "Loss", number: true, value: (row) => (row.link ? percent(row.link.loss) : "") },
        { name: "Sends", number: true, value: (row) => (row.link ? rate(row.link.sent_bits_per_second) : "") },
        { name: "Receives", number: true, value: (row) => (row.link ? rate(row.link.received_bits_per_second) : "") },
        { name: "Window", number: true, value: (row) => row.window ?? "" },
        { name: "Outages, resumed", number: true, value: (row) => row.outages ?? "" },
      ],
      {
        caption: "Health of the site, its store, its peers, tunnels and lanes",
        key: (row) => row.key,
        depth: (row) => row.depth,
      },
    );
  }

  show(live) {
    const health = record(live.health);
    this.headline(health, live);
    const reasons = gather(health);
    set(byId("reasons-panel"), "hidden", reasons.length === 0);
    notes(byId("reasons"), reasons);
    this.ladder.show(steps(health));
  }

  headline(health, live) {
    const panel = byId("verdict");
    const level = health.level;
    if (panel.dataset.level !== level) {
      panel.querySelector(":scope > svg")?.remove();
      panel.prepend(drawing(level));
      set(panel, "data-level", level);
    }
    entitle(levelWord(level), live.site);
    text(byId("verdict-level"), live.draining ? "Draining: nothing new is accepted" : headlineOf(health));
    text(byId("verdict-words"), sentence(health, live));
    const limit = limitedMost(list(health.peers));
    text(byId("verdict-limit"), limit);
    set(byId("verdict-limit"), "hidden", !limit);
    text(
      byId("verdict-side"),
      `${levelWord(level)} since ${moment(health.since)}, for ${duration(live.time - health.since)}`,
    );
  }
}

/**
 * Without a tunnel nothing works; where that is not critical, the site has only begun, or the other one has just ended
 * in order (proxy/observe/health.py). What is critical beside a tunnel that is up, as the site's own certificate that
 * has ended, lets what there is go on.
 */
function headlineOf(health) {
  if (health.level === "critical" && tunnelsUp(health) > 0) return AT_RISK;
  const none = health.level !== "critical" && list(health.peers).length > 0 && tunnelsUp(health) === 0;
  if (!none) return HEADLINES[health.level] ?? health.level;
  return gather(health).some((note) => note.about.startsWith(ENDED)) ? WAITING : STARTING;
}

function tunnelsUp(health) {
  return list(health.peers).filter((peer) => record(peer.tunnel).state === "up").length;
}

function sentence(health, live) {
  const peers = list(health.peers);
  if (health.level !== "healthy") return capital(String(health.words ?? ""));
  const up = tunnelsUp(health);
  const tunnels = peers.length === 1 ? "The tunnel is up" : `${up} of ${peers.length} tunnels are up`;
  return `${tunnels}, with ${streamsOf(live.streams_total)}.`;
}

function streamsOf(number) {
  return `${count(number)} ${number === 1 ? "stream" : "streams"}`;
}

/** All reasons of the ladder, the worst first. Lanes with the same fault at once are told together, as in events. */
function gather(health) {
  const found = new Map();
  for (const step of steps(health)) {
    for (const reason of list(step.reasons)) {
      const kind = step.lane ? `${step.to} ${reason.code} ${reason.level}` : found.size;
      if (found.has(kind)) found.get(kind).others.push(step.lane);
      else found.set(kind, { step, reason, others: [] });
    }
  }
  return [...found.values()].map(noteOf).sort((one, other) => LEVELS.indexOf(other.level) - LEVELS.indexOf(one.level));
}

function noteOf({ step: { key, about }, reason, others }) {
  const likewise = others.length ? `; likewise ${others.length > 1 ? "lanes" : "lane"} ${others.join(", ")}` : "";
  return {
    key: `${key} ${reason.code}`,
    level: reason.level,
    badge: levelWord(reason.level),
    words: introduced(about, reason.words) + likewise,
    remedy: reason.remedy,
    about: `${reason.code}, since ${moment(reason.since)}`,
  };
}

/** The ladder as rows, from the site down to its lanes. */
function steps(health) {
  const store = record(health.store);
  const rows = [
    { key: "site", about: "site", depth: 0, name: `Site ${health.site}`, ...common(health) },
    { key: "store", about: "store", depth: 0, name: "Store", ...common(store) },
  ];
  for (const peer of list(health.peers)) {
    const tunnel = record(peer.tunnel);
    const under = streamsOf(peer.streams);
    const about = `peer ${peer.name}`;
    rows.push({ key: about, about, depth: 0, name: `Peer ${peer.name}`, under, ...common(peer) });
    rows.push({
      key: `tunnel ${peer.name}`,
      about,
      depth: 1,
      name: `Tunnel to ${peer.name}`,
      under: tunnel.state,
      ...common(tunnel),
      link: tunnel,
      window: [size(tunnel.unacked_bytes), "on its way"],
      outages: `${count(tunnel.outages)}, ${count(tunnel.resumed)}`,
    });
    for (const lane of list(tunnel.lanes)) rows.push(laneRow(peer, lane));
  }
  return rows;
}

function laneRow(peer, lane) {
  const marked = lane.dscp ? `, DSCP ${lane.dscp}` : "";
  return {
    key: `lane ${peer.name} ${lane.number}`,
    depth: 2,
    lane: lane.number,
    to: peer.name,
    name: `Lane ${lane.number}`,
    about: `lane ${lane.number} to ${peer.name}`,
    under: `${lane.remote}, ${lane.congestion_control || DASH}${marked}`,
    ...common(lane),
    link: lane,
    window: size(lane.window_bytes),
  };
}

function common({ level, since, reasons }) {
  return { level, since, reasons };
}
