// Asks the site: single answers, and the stream of events that comes once a second. The stream is read by fetch, since
// EventSource sends no token and hides why it was refused.

const API = "/api/v1";
const TOKEN = "isthmus-token";
const ANSWER_MS = 5000;
const SENDABLE = /^[\x20-\x7e]+$/;

/** Nobody answered, or not in time. */
export class Unanswered extends Error {}

/** The site answered, but not with what was asked for. */
export class Refused extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

/** For this tab, or for this page alone where the browser stores nothing. */
export function keepToken(given) {
  token = given;
  try {
    sessionStorage.setItem(TOKEN, given);
  } catch {
    // it may be forbidden for this site, or for all
  }
}

function keptToken() {
  try {
    return sessionStorage.getItem(TOKEN);
  } catch {
    return null;
  }
}

let token = keptToken();

/** What no header can carry is no token: sent, it would be an error here, and look as if the site did not answer. */
function headers() {
  return token && SENDABLE.test(token) ? { Authorization: `Bearer ${token.trim()}` } : {};
}

async function open(path, signal) {
  const response = await fetch(API + path, { headers: headers(), signal, cache: "no-store" });
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new Refused(response.status, problem.error || `the site answers with status ${response.status}`);
}

/** The answer to a GET. Throws Refused, or Unanswered if the site does not answer within five seconds. */
export async function ask(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  const tail = given.length ? `?${new URLSearchParams(given)}` : "";
  try {
    const response = await open(path + tail, AbortSignal.timeout(ANSWER_MS));
    return await response.json();
  } catch (error) {
    throw error instanceof Refused ? error : new Unanswered(String(error));
  }
}

/** Read the live stream until it ends, which is always an error. `tell(name, data)` gets each event. */
export async function listen(tell, signal) {
  const response = await open("/live", signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error("the site ended the stream");
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) pass(part, tell);
  }
}

function pass(part, tell) {
  let name = "message";
  const data = [];
  for (const line of part.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5));
  }
  if (data.length) tell(name, JSON.parse(data.join("\n")));
}
