// Watches a whole game of Omnipoly in a browser: gRPC-Web by way of Envoy, nothing but the contracts, no build.
//
//     index.html?edition=rugpull&rounds=5
//
// Opens a table of bots without sitting down, starts it, follows it to its end, and shows what it has seen as JSON.
// contracts.binpb is a FileDescriptorSet: `protoc --include_imports --descriptor_set_out=contracts.binpb …`, with
// google/rpc/error_details.proto for the reasons of refusals. docs/clients says why each step is as it is.
import {
  Code,
  ConnectError,
  createClient,
  createFileRegistry,
  createGrpcWebTransport,
  FileDescriptorSetSchema,
  fromBinary,
} from "./vendor/connect.js";

const asked = new URLSearchParams(location.search);
const BOTS = 3;
const CUT_AT = 12; // at this version the stream is broken once, as a lost network would

// --- The contracts, and a client of each service

const bytes = await fetch("contracts.binpb").then((answer) => answer.arrayBuffer());
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, new Uint8Array(bytes)));
let token = "";
const signedIn = (next) => (request) => {
  if (token) request.header.set("authorization", `Bearer ${token}`);
  return next(request);
};
const transport = createGrpcWebTransport({ baseUrl: location.origin, interceptors: [signedIn] });
const service = (name) => createClient(registry.getService(`omnipoly.gateway.v1.${name}`), transport);
const [sessions, lobby, watch] = ["SessionsService", "LobbyService", "WatchService"].map(service);

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const named = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16).padStart(2, "0")).join("");

/** How long the server asks to wait, in milliseconds. */
function waitMs(error) {
  const retry = error.findDetails(registry.getMessage("google.rpc.RetryInfo"))[0];
  return retry?.retryDelay ? Number(retry.retryDelay.seconds) * 1000 + retry.retryDelay.nanos / 1e6 : 200;
}

/** A plain call; what passes by itself is waited for, under the same command id. */
async function call(method, request) {
  for (;;) {
    try {
      return await method(request, { timeoutMs: 10_000 });
    } catch (caught) {
      const error = ConnectError.from(caught);
      if (![Code.Unavailable, Code.ResourceExhausted].includes(error.code)) throw error;
      await pause(waitMs(error));
    }
  }
}

// --- The picture: what of the game this client keeps

class Game {
  constructor(table) {
    this.table = table;
    this.epoch = 0n;
    this.version = 0n;
    this.cash = [];
    this.kinds = {}; // how often each kind of event came
    this.over = false;
    this.afterMs = 0;
    this.streams = 0;
  }

  /** Where to go on: the epoch, the version, and the last line of the chat, of which this client keeps none. */
  get resume() {
    return this.version ? { epoch: this.epoch, version: this.version, chat: 0n } : undefined;
  }

  take({ case: kind, value }) {
    if (kind === "snapshot") {
      this.epoch = value.view.epoch;
      this.version = value.view.version;
      this.cash = value.view.seats.map((seat) => Number(seat.cash));
    } else if (kind === "commit") {
      if (value.version <= this.version) return; // known already
      if (value.version !== this.version + 1n) throw new Error(`${value.version} follows ${this.version}`);
      this.version = value.version;
      for (const event of value.events) this.apply(event.kind);
    } else if (kind === "left") {
      throw new Error(`left: ${value.reason}`);
    } else if (kind === "reconnect") {
      this.afterMs = Number(value.after?.seconds ?? 0) * 1000; // the stream ends soon: so long, then another
    } // progress tells the server's time, and that nothing is on its way
  }

  apply({ case: kind, value }) {
    this.kinds[kind] = (this.kinds[kind] ?? 0) + 1;
    if (kind === "seatTaken") this.cash[value.seat] = 0;
    if (kind === "paid") {
      if (value.payer >= 0) this.cash[value.payer] -= Number(value.amount);
      if (value.payee >= 0) this.cash[value.payee] += Number(value.amount);
    }
    // The seed is the last thing that a game says: with it everybody can check every throw.
    if (kind === "seedRevealed") this.over = true;
  }

  /** Follows the table to the game's end, over as many streams as that takes. */
  async follow() {
    let cut = false;
    while (!this.over) {
      this.streams += 1;
      const stream = new AbortController();
      try {
        const request = { table: this.table, resume: this.resume };
        for await (const message of watch.watch(request, { signal: stream.signal })) {
          for (const one of [message, ...message.along]) {
            this.take(one.response);
            if (this.over) return stream.abort();
            if (cut || this.version < CUT_AT) continue;
            cut = true;
            stream.abort();
            break; // what came along is lost with it
          }
        }
      } catch (caught) {
        const error = ConnectError.from(caught);
        if (![Code.Canceled, Code.Unavailable, Code.ResourceExhausted, Code.Unknown].includes(error.code)) throw error;
        if (!stream.signal.aborted) await pause(waitMs(error));
      }
      await pause(this.afterMs);
      this.afterMs = 0;
    }
  }
}

async function main() {
  const { session } = await call(sessions.signInGuest, { name: "Browser", requestId: named() });
  token = session.accessToken;
  const opened = await call(lobby.createTable, {
    requestId: named(),
    edition: asked.get("edition") ?? "rugpull",
    options: { roundLimit: Number(asked.get("rounds") ?? 5) },
    unseated: true,
  });
  const game = new Game(opened.table);
  const following = game.follow();
  for (let n = 0; n < BOTS; n += 1) await call(lobby.addBot, { table: game.table, commandId: named() });
  await call(lobby.start, { table: game.table, commandId: named() });
  await following;
  return { ...game, epoch: Number(game.epoch), version: Number(game.version) };
}

const shown = await main().catch((error) => ({ error: String(error) }));
document.getElementById("seen").textContent = JSON.stringify(shown);
document.body.dataset.done = "yes";
