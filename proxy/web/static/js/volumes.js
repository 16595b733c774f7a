// iSCSI volumes: what was read and written, and whether a faster line would help.

import { byId, list, record, set } from "./dom.js";
import { DASH, byteRate, count, latency, percent, size } from "./format.js";
import { badge, notes } from "./parts.js";
import { Table } from "./table.js";

const NEARLY_ALL = 0.95;

export class Volumes {
  constructor() {
    this.table = new Table(
      byId("volumes-table"),
      [
        { name: "Volume", value: (row) => [row.name, row.share] },
        { name: "Access", value: (row) => row.access },
        {
          name: "Commands",
          number: true,
          value: (row) => [count(row.commands), row.failed ? `${count(row.failed)} failed` : ""],
        },
        { name: "Bytes", number: true, value: (row) => [size(row.bytes), row.now] },
        {
          name: "Average",
          number: true,
          value: (row) => (row.commands ? size(Math.round(row.bytes / row.commands)) : DASH),
        },
        { name: "In sequence", number: true, value: (row) => share(row.sequential, row.random) },
        {
          name: "Latency",
          number: true,
          value: (row) => (row.commands ? latency(row.seconds.total / row.commands) : DASH),
        },
        { name: "95 % within", number: true, value: (row) => within(row.seconds) },
        {
          name: "Under way",
          number: true,
          value: (row) => [count(row.outstanding), `most ${count(row.outstanding_peak)}`],
        },
        { name: "Faster line?", draw: drawZone },
      ],
      { caption: "iSCSI volumes", key: (row) => row.key, empty: "No iSCSI volume has been read or written yet." },
    );
  }

  showStatus(status) {
    const peers = list(status.peers);
    const advised = peers.filter((peer) => peer.advice);
    set(byId("advice-panel"), "hidden", advised.length === 0);
    notes(
      byId("advice"),
      advised.map(({ name, advice }) => ({
        key: name,
        level: advice.colour,
        badge: advice.zone,
        words: `Line to ${name}: ${advice.words}`,
      })),
    );
    this.table.show(peers.flatMap((peer) => list(peer.volumes).flatMap((volume) => rowsOf(peer, volume))));
  }
}

/** A row for reads and one for writes, where there were any. */
function rowsOf(peer, volume) {
  const name = [volume.target, volume.unit].filter(Boolean).join(" ");
  return ["reads", "writes"]
    .map((access) => ({ access, ...record(volume[access]) }))
    .filter((one) => one.commands || one.failed || one.sequential || one.random)
    .map((one) => ({
      ...one,
      key: `${peer.name} ${volume.share} ${name} ${one.access}`,
      name,
      share: [volume.share, `peer ${peer.name}`].filter(Boolean).join(", "),
      seconds: record(one.seconds),
      now: one.access === "writes" ? `${byteRate(volume.write_bytes_per_second)} now` : "",
      outstanding: volume.outstanding,
      outstanding_peak: volume.outstanding_peak,
      advice: one.access === "writes" ? volume.advice : null,
    }));
}

function drawZone(cell, row) {
  if (row.advice) badge(cell, row.advice.colour, row.advice.zone);
  else cell.replaceChildren();
  set(cell, "title", row.advice?.words ?? null);
}

function share(part, rest) {
  return part + rest > 0 ? percent(part / (part + rest)) : DASH;
}

/** The bound within which 95 % of the commands are. */
function within({ bounds, counts }) {
  const all = list(counts).reduce((sum, each) => sum + each, 0);
  if (!all) return DASH;
  let seen = 0;
  const index = counts.findIndex((each) => (seen += each) >= NEARLY_ALL * all);
  return index < bounds.length ? latency(bounds[index]) : `over ${latency(bounds[bounds.length - 1])}`;
}
