// What is stored, and how well it serves.

import { byId, list, text } from "./dom.js";
import { DASH, capital, count, duration, percent, size } from "./format.js";
import { stack, tiles } from "./parts.js";
import { Table } from "./table.js";

export class Store {
  constructor() {
    this.ages = new Table(
      byId("ages"),
      [
        { name: "In the newest part", value: (row) => row.name },
        { name: "Of look-ups", number: true, value: (row) => percent(row.share) },
        {
          name: "Of 100 %",
          wide: true,
          draw: (cell, row) => stack(cell, [{ hue: "deduplication", share: row.share }]),
        },
      ],
      {
        caption: "Hits by the age of the data",
        key: (row) => row.name,
        empty: "No hit was sampled yet: one look-up in 256 is.",
      },
    );
    this.larger = new Table(
      byId("larger"),
      [
        { name: "A store of", value: (row) => size(row.size_bytes) },
        { name: "More hits", number: true, value: (row) => percent(row.more_hits) },
      ],
      { caption: "What a larger store would bring", key: (row) => row.size_bytes, empty: "" },
    );
  }

  show(store) {
    const checked = store.verified_bytes ? "every chunk was what it should be" : "nothing had to be checked yet";
    const bad = (store.mismatches_caught ?? 0) + (store.invalid ?? 0);
    tiles(byId("store-tiles"), [
      {
        name: `Filled, ${store.mode === "disk" ? "on disk" : "in memory"}`,
        figure: percent(store.fill),
        share: store.fill,
        under: `${size(store.used_bytes)} of ${size(store.size_bytes)}, ${count(store.chunks)} chunks`,
      },
      {
        name: "Hit rate",
        figure: store.hit_rate === null ? DASH : percent(store.hit_rate),
        under: `${count(store.hits)} of ${count((store.hits ?? 0) + (store.misses ?? 0))} look-ups`,
      },
      {
        name: "Oldest data",
        figure: store.oldest_seconds > 0 ? duration(store.oldest_seconds) : DASH, // until a container is full: unknown
        under: `${size(store.replaced_last_hour_bytes)} replaced in the last hour`,
      },
      {
        name: "Verified",
        figure: size(store.verified_bytes),
        under: bad ? `${count(bad)} ${bad === 1 ? "chunk was" : "chunks were"} wrong, caught and not used` : checked,
      },
      ...pending(store),
    ]);
    this.ages.show(withoutTail(list(store.hits_by_age)).map(named));
    text(byId("store-advice"), store.advice ? capital(String(store.advice)) : "");
    this.larger.show(list(store.larger));
  }
}

function pending(store) {
  if (store.mode !== "disk" && !store.unlearned_bytes) return [];
  return [
    {
      name: "Waiting for the disk",
      figure: size(store.unwritten_bytes),
      under: `${size(store.unlearned_bytes)} passed without being stored`,
    },
  ];
}

/** Without the oldest parts, if nothing was found in them. */
function withoutTail(ages) {
  return ages.slice(0, ages.findLastIndex(({ share }) => share > 0) + 1);
}

function named({ newest_share, share }, index, all) {
  const from = index ? percent(all[index - 1].newest_share) : "newest";
  return { name: index ? `${from} to ${percent(newest_share)}` : `newest ${percent(newest_share)}`, share };
}
