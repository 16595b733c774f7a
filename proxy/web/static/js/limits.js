// Why is it slow? What limits each tunnel now, where its streams' time went, and what shaping grants.

import { byId, list, record, set, text } from "./dom.js";
import { DASH, capital, duration, percent, rate, size } from "./format.js";
import { badge, stack } from "./parts.js";
import { Table } from "./table.js";

const IDLE = new Set(["source idle", "other site"]);

/** By proxy/observe/waiting.py: what a direction of a stream waits for, and where to look it up. */
const WAITS = {
  outage: "the tunnel, in an outage",
  far_array: "the far array",
  array: "the array here",
  answer: "answers of the far array",
  store: "the store's disk",
  fill: "chunks that the store lacks",
  shaping: "guarantees and limits",
  cpu: "this process (CPU)",
  line: "the line",
  window: "the round trip (window)",
  unacked: "the round trip (unacked)",
};
const WAITING_FOR_BYTES = ["source", "peer"];
const WORTH_A_ROW = 0.001;

export class Limits {
  constructor() {
    this.before = null;
    this.verdicts = new Table(
      byId("verdicts"),
      [
        { name: "Tunnel", value: (row) => row.name },
        { name: "Limited by", draw: (cell, row) => badge(cell, row.level, row.limit) },
        { name: "Of the time", number: true, value: (row) => percent(row.share) },
        { name: "Why", fill: true, value: (row) => row.words },
      ],
      { caption: "What limits each tunnel", key: (row) => row.name, empty: "There is no peer." },
    );
    this.waits = new Table(
      byId("waits"),
      [
        { name: "Waiting for", value: (row) => row.name },
        { name: "Share", number: true, value: (row) => percent(row.share) },
        {
          name: "Of that time",
          wide: true,
          draw: (cell, row) => stack(cell, [{ hue: "deduplication", share: row.share }]),
        },
      ],
      { caption: "Where the time of streams goes", key: (row) => row.name },
    );
    this.shares = new Table(
      byId("shares"),
      [
        { name: "Forward or export", value: (row) => [row.name, row.peer] },
        { name: "Priority", value: (row) => row.priority ?? "" },
        { name: "Guarantee", number: true, value: (row) => rate(row.guarantee) },
        { name: "Maximum", number: true, value: (row) => rate(row.maximum) },
        { name: "Now", number: true, value: (row) => rate(row.now) },
        { name: "Sent", number: true, value: (row) => size(row.sent) },
        { name: "Held back", number: true, value: (row) => duration(row.held) },
      ],
      { caption: "Guarantees and limits", key: (row) => `${row.peer} ${row.name}` },
    );
  }

  /** Once a second. */
  show(live) {
    this.verdicts.show(
      list(record(live.health).peers).map(({ name, verdict }) => ({
        name,
        ...record(verdict),
        level: levelOf(record(verdict)),
      })),
    );
  }

  /** With each status. */
  showStatus(status) {
    const peers = list(status.peers);
    this.showWaits(status, peers);
    const rows = peers.flatMap(shareRows);
    set(byId("shares-panel"), "hidden", rows.length === 0);
    this.shares.show(rows);
  }

  /** The accounts of a peer only grow: what those of all peers grew by since the last look. */
  showWaits({ started, uptime_seconds: uptime }, peers) {
    const accounts = new Map(peers.map((peer) => [peer.name, record(peer.waiting_seconds)]));
    const now = { started, uptime, accounts };
    const before = this.before && !begunAnew(this.before, now) ? this.before : { uptime: 0, accounts: new Map() };
    this.before = now;
    const grown = sum([...accounts].map(([name, account]) => growth(before.accounts.get(name), account)));
    const busy = Object.entries(grown).filter(([name, seconds]) => !WAITING_FOR_BYTES.includes(name) && seconds > 0);
    const all = busy.reduce((total, [, seconds]) => total + seconds, 0);
    set(byId("waits-panel"), "hidden", all === 0);
    text(
      byId("waits-range"),
      before.uptime
        ? `over the last ${duration(uptime - before.uptime)}; without idle time`
        : "since the start; without idle time",
    );
    this.waits.show(
      busy
        .sort(([, one], [, other]) => other - one)
        .map(([name, seconds]) => ({ name: capital(WAITS[name] ?? name), share: seconds / all }))
        .filter((row) => row.share >= WORTH_A_ROW),
    );
  }
}

/** The site was started again, or this is the answer of before. */
function begunAnew(before, now) {
  return now.started !== before.started || now.uptime <= before.uptime;
}

/** All of what is less than it was has come since: of a peer that was removed and is there again. */
function growth(before, now) {
  const less = Object.entries(before ?? {}).some(([name, seconds]) => (now[name] ?? 0) < seconds);
  const base = less ? {} : (before ?? {});
  return Object.fromEntries(Object.entries(now).map(([name, seconds]) => [name, seconds - (base[name] ?? 0)]));
}

/** What limits the tunnel that is limited most, of those that are up: in an outage health says all there is to say. */
export function limitedMost(peers) {
  const up = peers.filter((peer) => record(peer.tunnel).state === "up").map(({ name, verdict }) => ({ name, ...verdict }));
  const [most] = up.sort((one, other) => IDLE.has(one.limit) - IDLE.has(other.limit) || other.share - one.share);
  return most ? `Tunnel to ${most.name}: limited by ${most.limit}, ${percent(most.share)}; ${most.words}` : "";
}

function levelOf({ limit, share }) {
  if (limit === "outage") return "critical";
  if (IDLE.has(limit)) return "";
  return share > 0.5 ? "attention" : "";
}

function sum(accounts) {
  const sums = {};
  for (const account of accounts) {
    for (const [name, seconds] of Object.entries(account)) sums[name] = (sums[name] ?? 0) + seconds;
  }
  return sums;
}

/** A peer's rate, and forwards and exports with a rule of their own; nothing of a peer without any. */
function shareRows(peer) {
  const shares = list(peer.shares);
  const ruled = shares.some(
    (share) =>
      share.guarantee_bits_per_second || share.maximum_bits_per_second || share.priority !== "normal" || share.dscp,
  );
  if (!ruled && !peer.rate_bits_per_second) return [];
  const total = (key) => shares.reduce((all, share) => all + (share[key] ?? 0), 0);
  return [
    {
      name: "All together",
      peer: `to ${peer.name}`,
      priority: DASH,
      guarantee: null,
      maximum: peer.rate_bits_per_second,
      now: total("bits_per_second"),
      sent: total("wire_bytes"),
      held: peer.held_seconds,
    },
    ...shares.map((share) => ({
      name: share.name,
      peer: `to ${peer.name}`,
      priority: share.priority,
      guarantee: share.guarantee_bits_per_second,
      maximum: share.maximum_bits_per_second,
      now: share.bits_per_second,
      sent: share.wire_bytes,
      held: share.held_seconds,
    })),
  ];
}
