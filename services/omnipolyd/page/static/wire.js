// The gateway, spoken to over gRPC-Web with nothing but the contracts: every service and message is found by its name.
import { Code, ConnectError, createClient, createFileRegistry, createGrpcWebTransport } from "./vendor/connect.js";
import { FileDescriptorSetSchema, fromBinary } from "./vendor/connect.js";

const contracts = await fetch("contracts.binpb").then((answer) => answer.arrayBuffer());
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, new Uint8Array(contracts)));

const KEPT = "omnipoly.session";
let session = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
if (session && session.expires < Date.now()) session = null;

const authorize = (next) => (request) => {
  if (session) request.header.set("authorization", `Bearer ${session.token}`);
  return next(request);
};
const transport = createGrpcWebTransport({ baseUrl: location.origin, interceptors: [authorize] });
const client = (name) => createClient(registry.getService(`omnipoly.gateway.v1.${name}`), transport);

const [sessions, lobby, play, watch, chat] = [
  client("SessionsService"),
  client("LobbyService"),
  client("PlayService"),
  client("WatchService"),
  client("ChatService"),
];
export { chat, lobby, play, watch };

/** A number of the contracts, whatever its width. */
export const number = (value) => Number(value ?? 0);
/** A time in milliseconds since 1970 UTC, or a duration in milliseconds; 0: unset. */
export const millis = (time) => (time ? Number(time.seconds) * 1000 + time.nanos / 1e6 : 0);
/** The name of an enum's value, in small letters: `nameOf("game.v1.Phase", 3)` is "throw"; "" for what is not said. */
export function nameOf(type, value) {
  const found = registry.getEnum(`omnipoly.${type}`).value[value];
  return found && value ? found.localName.toLowerCase() : "";
}
/** A name for a command: the same again is done once. */
export const fresh = () => crypto.randomUUID?.() ?? `${Date.now()}-${Math.random().toString(36).slice(2)}`;

/** What the server said no with: a code of the rules ("wrong_phase") and a sentence. */
export class Refused extends Error {
  constructor(error) {
    super(error.rawMessage);
    const why = error.findDetails(registry.getMessage("google.rpc.ErrorInfo"))[0];
    const wait = error.findDetails(registry.getMessage("google.rpc.RetryInfo"))[0];
    this.code = why?.reason.toLowerCase() ?? "";
    this.retryMs = wait?.retryDelay ? millis(wait.retryDelay) : null;
    this.passing = [Code.Unavailable, Code.ResourceExhausted, Code.Aborted].includes(error.code);
    this.signedOut = error.code === Code.Unauthenticated;
  }
}

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** A plain call, tried again where waiting helps. Commands carry an id, so that twice is once. Throws `Refused`. */
export async function call(method, request) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await method(request, { timeoutMs: 10_000 });
    } catch (error) {
      const refused = new Refused(ConnectError.from(error));
      if (!refused.passing || tries >= 6) throw refused;
      await pause(refused.retryMs ?? 150 * 2 ** tries);
    }
  }
}

/** Does an action by its kind, e.g. `act(table, "bid", { auction, amount })`. */
export function act(table, kind, fields = {}) {
  const name = kind === "remove" ? "removeSeat" : kind.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  return call(play[name] ?? lobby[name], { table, commandId: fresh(), ...fields });
}

export const me = () => session;

export async function signIn(name) {
  const made = (await call(sessions.signInGuest, { name, requestId: fresh() })).session;
  session = { person: made.person, name: made.name, token: made.accessToken, expires: millis(made.expires) };
  sessionStorage.setItem(KEPT, JSON.stringify(session));
}

export function signOut() {
  session = null;
  sessionStorage.removeItem(KEPT);
}

export const serverInfo = () => call(sessions.getServerInfo, {});
