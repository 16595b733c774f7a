// Figures as the command line prints them (proxy/figures.py, proxy/cli/cells.py): three digits and a unit, a dash for what is missing.

export const DASH = "–";

export function isNumber(value) {
  return typeof value === "number" && Math.abs(value) < 1e30;
}

function three(value) {
  return String(Number(value.toPrecision(3)));
}

function grouped(value, digits = 0) {
  return value.toLocaleString("en-US", { maximumFractionDigits: digits });
}

/** 1,234,567 */
export function count(value) {
  return isNumber(value) ? grouped(value) : DASH;
}

/** 1.5 GiB */
export function size(value) {
  if (!isNumber(value)) return DASH;
  if (Math.abs(value) < 1000) return `${Math.round(value)} B`;
  for (const unit of ["KiB", "MiB", "GiB"]) {
    value /= 1024;
    if (Math.abs(value) < 999.5) return `${three(value)} ${unit}`;
  }
  value /= 1024;
  return value < 999.5 ? `${three(value)} TiB` : `${grouped(value)} TiB`;
}

/** 43.4 Mbit/s, of bits a second. */
export function rate(value) {
  if (!isNumber(value)) return DASH;
  for (const unit of ["bit/s", "kbit/s", "Mbit/s"]) {
    if (Math.abs(value) < 999.5) return `${three(value)} ${unit}`;
    value /= 1000;
  }
  return value < 999.5 ? `${three(value)} Gbit/s` : `${grouped(value)} Gbit/s`;
}

/** 12.3 MB/s, of bytes a second. */
export function byteRate(value) {
  return isNumber(value) ? `${value >= 999.5e6 ? grouped(value / 1e6) : three(value / 1e6)} MB/s` : DASH;
}

/** The two largest units: 2 d 3 h, 4 min 5 s, 6 s. */
export function duration(value) {
  if (!isNumber(value) || value < 0) return DASH;
  const seconds = Math.floor(value);
  const parts = [
    [Math.floor(seconds / 86400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ];
  const first = parts.findIndex(([number]) => number > 0);
  return parts
    .slice(first < 0 ? 3 : first, (first < 0 ? 3 : first) + 2)
    .map(([number, unit]) => `${number} ${unit}`)
    .join(" ");
}

/** 0.42 ms, of seconds; from one second on as seconds. */
export function latency(value) {
  if (!isNumber(value)) return DASH;
  return value >= 1 ? `${three(value)} s` : `${three(value * 1000)} ms`;
}

/** 43 %, of a share from 0 to 1; small shares to three digits. */
export function percent(value) {
  if (!isNumber(value)) return DASH;
  const hundredths = value * 100;
  if (hundredths > 0 && hundredths < 0.01) return "< 0.01 %";
  return `${Math.abs(hundredths) >= 10 ? Math.round(hundredths) : Number(hundredths.toPrecision(2))} %`;
}

/** 3.42 : 1, and large ones without digits that mean nothing. */
export function ratio(value) {
  if (!isNumber(value)) return DASH;
  return `${value >= 999.5 ? grouped(value) : three(value)} : 1`;
}

/** A moment in the viewer's time: 14:03:05 today, otherwise 3 Nov 14:03. Of seconds since 1970. */
export function moment(seconds) {
  if (!isNumber(seconds)) return DASH;
  const date = new Date(seconds * 1000);
  const clock = (options) => date.toLocaleTimeString("en-GB", options);
  if (date.toDateString() === new Date().toDateString()) return clock({});
  const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return `${day} ${clock({ hour: "2-digit", minute: "2-digit" })}`;
}

/** a, b and c */
export function listed(words) {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

/** The words with what they are about in front, unless they name that: "peer west" by its name, "store" by the word. */
export function introduced(subject, words) {
  const parts = subject.split(" ");
  const named = words.split(/[^\p{L}\p{N}_.-]+/u).map((word) => word.replace(/^\.+|\.+$/g, ""));
  return capital(parts.length < 3 && named.includes(parts.at(-1)) ? words : `${subject}: ${words}`);
}

/** Words as they begin a sentence. */
export function capital(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
