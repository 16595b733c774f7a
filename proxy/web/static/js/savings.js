// What does Isthmus save? Throughput, the byte waterfall, cold and warm, gain by forward: over a range of time.

import { ask } from "./api.js";
import { Chart } from "./chart.js";
import { byId, h, list, reconcile, record, set, text } from "./dom.js";
import { DASH, count, duration, percent, rate, ratio, size } from "./format.js";
import { options, stack, tiles, width } from "./parts.js";
import { Table } from "./table.js";

const RANGES = { "5m": "5 min", "1h": "1 h", "6h": "6 h", "1d": "1 day", "7d": "7 days", "30d": "30 days" };
const COLUMNS = {
  lan_sent: "LAN, from arrays here",
  wan_sent: "WAN, sent",
  wan_retransmitted: "WAN, sent again",
  wan_received: "WAN, received",
  lan_received: "LAN, to arrays here",
};
/** What nobody counts by forward or export: a dash, and no line of a chart, for 0 would be a figure. */
const OF_LANES = ["wan_retransmitted", "wan_received"];
/** Of the plain bytes: where the tunnel's own messages are more, what was sent is too little to tell a gain. */
const MOST = 0.5;
const MOST_WHERE_RECEIVING = 0.1;

export class Savings {
  constructor(refresh) {
    this.range = "5m";
    this.of = "site";
    this.gone = "";
    this.answer = null;
    this.shares = null;
    this.rates = {};
    byId("of").addEventListener("change", (event) => this.choose({ of: event.target.value, gone: "" }, refresh));
    byId("ranges").append(
      ...Object.entries(RANGES).map(([range, name]) =>
        h(
          "button",
          {
            type: "button",
            "data-range": range,
            "aria-pressed": String(range === this.range),
            onclick: () => this.choose({ range }, refresh),
          },
          name,
        ),
      ),
    );
    this.sent = new Chart(byId("chart-sent"), "Sending: what arrays gave, and what crossed the line", [
      { name: "LAN", hue: "lan", column: "lan_sent" },
      { name: "WAN", hue: "wan", column: "wan_sent" },
    ]);
    this.received = new Chart(byId("chart-received"), "Receiving: what crossed the line, and what arrays got", [
      { name: "LAN", hue: "lan", column: "lan_received" },
      { name: "WAN", hue: "wan", column: "wan_received" },
    ]);
    this.makeTables();
  }

  makeTables() {
    this.throughput = new Table(
      byId("throughput"),
      [
        { name: "Throughput", value: (row) => COLUMNS[row.column] },
        { name: "Now", number: true, value: (row) => rate(row.now) },
        { name: "Average", number: true, value: (row) => rate(row.average) },
        { name: "95th percentile", number: true, value: (row) => rate(row.p95) },
        { name: "Peak", number: true, value: (row) => rate(row.peak) },
      ],
      { caption: "Throughput over the chosen range", key: (row) => row.column },
    );
    this.gains = new Table(
      byId("gains"),
      [
        { name: "Forward or export", value: (row) => row.share },
        { name: "Gain", number: true, value: (row) => (tells(row, row.wire) ? ratio(row.gain) : DASH) },
        { name: "Plain", number: true, value: (row) => size(row.raw) },
        { name: "Wire, with TCP/IP headers", number: true, value: (row) => size(row.wire) },
        { name: "By deduplication", number: true, value: (row) => (row.raw ? percent(row.by_deduplication) : DASH) },
        { name: "By compression", number: true, value: (row) => (row.raw ? percent(row.by_compression) : DASH) },
        { name: "Of the plain bytes", wide: true, draw: drawGain },
      ],
      {
        caption: "Bandwidth gain by forward and export",
        key: (row) => row.share,
        empty: "",
      },
    );
  }

  choose(choice, refresh) {
    Object.assign(this, choice);
    for (const button of byId("ranges").children)
      set(button, "aria-pressed", String(button.dataset.range === this.range));
    refresh();
  }

  /** Seconds until the next look: what a step brings shows when it is over. */
  get pause() {
    return { "5m": 5, "1h": 10 }[this.range] ?? 60;
  }

  /** What is refused may be gone, as after a restart with another file: then it is the whole site that is shown. */
  async refresh() {
    const { of } = this;
    await this.look().catch((error) => {
      if (error.status !== 400 || of === "site") throw error;
      if (of === this.of) this.leave(of);
      return this.look();
    });
  }

  leave(gone) {
    Object.assign(this, { of: "site", gone });
    byId("of").value = "site";
  }

  async look() {
    const wanted = { range: this.range, of: this.of };
    const answer = await ask("/history", wanted);
    if (wanted.range !== this.range || wanted.of !== this.of) return;
    this.answer = answer;
    options(
      byId("of"),
      "site",
      list(answer.choices).filter((choice) => choice !== "site"),
    );
    const time = list(answer.time);
    const untold = Object.fromEntries(this.untold.map((column) => [column, time.map(() => null)]));
    const data = { time, ...bridged(record(answer.chart), answer.step_seconds), ...untold };
    this.sent.show(data);
    this.received.show(data);
    const kept = answer.kept === "memory" ? "; kept in memory only, a restart forgets it" : "";
    const gone = this.gone && `; there is no ${this.gone} any more`;
    text(
      byId("throughput-range"),
      `of the ${this.of}, over ${RANGES[this.range]} in steps of ${duration(answer.step_seconds)}${kept}${gone}`,
    );
    waterfall(record(answer.waterfall), this.judged, this.untold.length > 0);
    tiles(byId("passes"), [pass("Cold", record(answer.cold), this.judged), pass("Warm", record(answer.warm), this.judged)], "div.tile");
    this.showGains();
    this.draw();
  }

  /** With each status: which forwards and exports there are. */
  showStatus(status) {
    this.shares = list(status.peers).flatMap((peer) => list(peer.shares).map((share) => share.name));
    this.showGains();
  }

  showGains() {
    if (this.answer === null) return;
    const gains = list(this.answer.gains);
    this.gains.show(gains);
    const words = this.shares === null ? "" : beyond(this.shares, gains, list(this.answer.choices).length);
    text(byId("gains-beyond"), words);
    set(byId("gains-beyond"), "hidden", !words);
  }

  get summary() {
    const untold = Object.fromEntries(this.untold.map((column) => [column, {}]));
    return { ...record(this.answer?.summary), ...untold };
  }

  /** Columns that the history of this forward or export has no figures of. */
  get untold() {
    return /^(forward|export) /.test(this.answer?.of ?? "") ? OF_LANES : [];
  }

  /** Arrays here get more than they give. */
  get receives() {
    return record(this.summary.lan_received).average > record(this.summary.lan_sent).average;
  }

  /** What arrays gave tells the gain: acknowledgements of what they got, and signs of life, are little beside it. */
  get judged() {
    const { raw = 0, after_compression = 0, wire = 0 } = record(this.answer?.waterfall);
    return tells({ raw, after_compression }, wire, this.receives ? MOST_WHERE_RECEIVING : MOST);
  }

  /** The tiles of what was gained. */
  gained(over) {
    const { raw = 0, wire = 0, retransmitted = 0 } = record(this.answer?.waterfall);
    const crossed = wire + retransmitted;
    const gain = { name: "Bandwidth gain", figure: DASH };
    const saved = { name: "Saved", figure: DASH };
    if (this.judged) {
      Object.assign(gain, { figure: ratio(raw / crossed), under: `plain bytes to those of the line, ${over}` });
      const share = percent(Math.max(0, 1 - crossed / raw));
      Object.assign(saved, { figure: size(Math.max(0, raw - crossed)), under: `${share} of ${size(raw)}, ${over}` });
    } else if (this.receives) {
      const [got, crossing] = ["lan_received", "wan_received"].map((name) => record(this.summary[name]).average);
      if (crossing) gain.figure = ratio(got / crossing);
      gain.under = `of what was received: this site mostly receives, ${over}`;
      saved.under = "counted by who sends: see the other site's page";
    } else {
      gain.under = saved.under = `${raw ? "too little" : "nothing"} was sent ${over}`;
    }
    return [gain, saved];
  }

  /** Once a second: the rates of now. */
  show(live) {
    this.rates = record(live.rates);
    this.draw();
  }

  draw() {
    const { range, of } = this.answer ?? this;
    const now = (column) => (of === "site" ? this.rates[column] : null);
    const whole = of === "site" ? "" : "; of the whole site";
    this.throughput.show(
      Object.keys(COLUMNS).map((column) => ({ column, now: now(column), ...record(this.summary[column]) })),
    );
    tiles(byId("savings-tiles"), [
      ...this.gained(`over ${RANGES[range]}`),
      {
        name: "LAN now, from arrays here",
        hue: "lan",
        figure: rate(this.rates.lan_sent),
        under: `to them ${rate(this.rates.lan_received)}${whole}`,
      },
      {
        name: "WAN now, sent",
        hue: "wan",
        figure: rate(this.rates.wan_sent),
        under: `received ${rate(this.rates.wan_received)}${whole}`,
      },
    ]);
  }
}

/** Forwards and exports without gains: with many peers the site keeps no history of them. */
function beyond(shares, gains, series) {
  const kept = new Set(gains.map((gain) => gain.share));
  const rest = new Set(shares.filter((share) => !kept.has(share))).size;
  if (rest === 0) return gains.length ? "" : "There is no forward and no export.";
  const what = rest === 1 ? "forward or export has" : "forwards and exports have";
  const most = `history is kept of ${count(series)} at most, the site, its peers, then forwards and exports`;
  return `${count(rest)} ${what} no gains here: ${most}.`;
}

/** Where a look at the counters came late, the next second's average is that of both: no gap, nothing stood still. */
function bridged(columns, step) {
  if (step !== 1) return columns;
  const fill = (column) =>
    column.map((value, at) => value ?? (at > 0 && column[at - 1] !== null ? (column[at + 1] ?? null) : null));
  return Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, fill(column)]));
}

/** The tunnel's own messages, such as acknowledgements, are no more than that share of the plain bytes. */
function tells({ raw, after_compression }, wire, most = MOST) {
  return raw > 0 && wire - after_compression <= most * raw;
}

function pass(name, { seconds, raw, wire, lan_bits_per_second: speed, gain }, judged) {
  const under = `${size(raw)} for ${size(wire)} of the line, at ${rate(speed)} for ${duration(seconds)}`;
  return { name, figure: judged ? ratio(gain) : DASH, under: seconds ? under : "none in this range" };
}

/**
 * What became of the bytes: full bars are what is left, the thin ones between them what a step took or added. Shares
 * of the plain bytes stand there only if these tell something.
 */
function waterfall(
  { raw = 0, after_deduplication = 0, after_compression = 0, framing = 0, wire = 0, retransmitted = 0 },
  judged,
  withHeaders,
) {
  const crossed = wire + retransmitted;
  const most = Math.max(raw, crossed, 1);
  const left = (name, value, hue) => ({ name, from: 0, value, hue });
  const taken = (name, before, after, hue) => ({
    name,
    step: true,
    from: Math.min(before, after),
    value: after - before,
    hue,
  });
  const steps = [
    left("Plain, from arrays", raw),
    taken("Deduplication", raw, after_deduplication, "deduplication"),
    left("After deduplication", after_deduplication),
    taken("Compression", after_deduplication, after_compression, "compression"),
    left("After compression", after_compression),
    taken(withHeaders ? "Framing, TLS and TCP/IP" : "Framing and TLS", after_compression, after_compression + framing, "wan"),
    ...(withHeaders ? [] : [taken("Sent again", wire, crossed, "resent")]),
    left("On the wire", crossed, "wan"),
  ];
  reconcile(
    byId("waterfall"),
    steps,
    (step) => step.name,
    waterfallRow,
    (row, step) => {
      const [, bar, figure, share] = row.children;
      const sign = step.step && step.value !== 0 ? (step.value < 0 ? "−" : "+") : "";
      text(figure, `${sign}${size(Math.abs(step.value))}`);
      text(share, judged ? percent(Math.abs(step.value) / raw) : "");
      width(bar.children[0], step.from / most);
      width(bar.children[1], Math.abs(step.value) / most);
    },
  );
}

function waterfallRow({ name, step, hue }) {
  const bar = h(
    step ? "span.bar" : "span.bar.tall",
    { "aria-hidden": "true" },
    h("span.before"),
    h("span.part", { "data-hue": hue }),
  );
  return h(step ? "li.step" : "li", {}, h("span.name", {}, name), bar, h("span.figure"), h("small"));
}

function drawGain(cell, row) {
  const saved = row.by_deduplication + row.by_compression;
  stack(
    cell,
    row.raw
      ? [
          { hue: "deduplication", share: row.by_deduplication },
          { hue: "compression", share: row.by_compression },
          { hue: "sent", share: Math.max(0, 1 - saved) },
        ]
      : [],
  );
}
