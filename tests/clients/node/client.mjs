// Plays a whole game of Omnipoly in Node: @grpc/grpc-js, and stubs loaded from protos/ as they are.
//
//     node client.mjs HOST:PORT [TABLE]
//
// Opens a table with two bots, or sits down at TABLE, plays until the game is over, and prints what it has seen as JSON.
// Environment: OMNIPOLY_PROTOS, the folders of protos/ and of google/rpc/*.proto; EDITION (rugpull) and ROUNDS (5) of the
// table it opens. docs/clients says why each step is as it is.

import { createHash, randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const folders = (process.env.OMNIPOLY_PROTOS ?? "protos").split(delimiter);
const gateway = readdirSync(join(folders[0], "omnipoly/gateway/v1")).map((name) => `omnipoly/gateway/v1/${name}`);
// int64 as numbers: versions and amounts stay far below 2^53. oneofs: `response.response` names the member that is set.
const definition = loader.loadSync([...gateway, "google/rpc/error_details.proto"], {
  includeDirs: folders, keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true,
});
const { SessionsService, LobbyService, PlayService } = grpc.loadPackageDefinition(definition).omnipoly.gateway.v1;
const { "google.rpc.Status": Status, "google.rpc.ErrorInfo": ErrorInfo, "google.rpc.RetryInfo": RetryInfo } = definition;

// Kinds of action, the one this player likes best first.
const FIRST = ["roll", "buy", "pay", "raise", "choose_steps", "teleport", "decline", "pass", "end_turn", "give_up"];
// A stream that ends with one of these ends alike the next time.
const FINAL = ["UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "INVALID_ARGUMENT", "FAILED_PRECONDITION", "UNIMPLEMENTED"];

// Why something was refused, and after how many milliseconds to try again.
function reason(status) {
  const found = { code: "", waitMs: 0 };
  for (const { type_url, value } of status.details) {
    if (type_url.endsWith("/google.rpc.ErrorInfo")) found.code = ErrorInfo.deserialize(value).reason;
    if (type_url.endsWith("/google.rpc.RetryInfo")) found.waitMs = ms(RetryInfo.deserialize(value).retry_delay);
  }
  return found;
}

function reasonOf(error) {
  const [bytes] = error.metadata?.get("grpc-status-details-bin") ?? [];
  return bytes ? reason(Status.deserialize(bytes)).code : "";
}

const ms = (duration) => Number(duration?.seconds ?? 0) * 1000 + (duration?.nanos ?? 0) / 1e6;

// The simplest action that a listed one stands for.
function actionOf(listed) {
  if (listed.kind === "choose_steps") return { choose_steps: { steps: Number(listed.amounts[0]) } };
  if (listed.kind === "pass") return { pass: { auction: listed.auction } };
  return { [listed.kind]: listed.fields.length ? { field: listed.fields[0].field } : {} };
}

class Player {
  constructor(address) {
    const credentials = grpc.credentials.createInsecure();
    const options = { "grpc.keepalive_time_ms": 5000, "grpc.keepalive_timeout_ms": 5000 };
    this.clients = [SessionsService, LobbyService, PlayService].map((Service) => new Service(address, credentials, options));
    [this.sessions, this.lobby, this.plays] = this.clients;
    this.resume = null; // where we stand; null: we want a picture
    this.cash = []; // our picture of the table: who has how much
    this.pending = null; // our command that has no answer yet
    this.prompt = null; // our decision that we have not answered yet
    this.name = randomBytes(6).toString("hex");
    Object.assign(this, { commands: 0, streams: 0, duplicates: 0, pauseMs: 100, over: false });
  }

  // A name for a command or call that no other has.
  fresh() {
    return `${this.name}-${String(++this.commands).padStart(4, "0")}`;
  }

  metadata() {
    const metadata = new grpc.Metadata();
    metadata.set("authorization", `Bearer ${this.session.access_token}`);
    return metadata;
  }

  async signIn() {
    const call = promisify(this.sessions.SignInGuest.bind(this.sessions));
    this.session = (await call({ name: "Node", request_id: this.fresh() })).session;
  }

  // Each refresh token is good once; named after it, a renewal that is tried again is the same renewal.
  async renew() {
    const { refresh_token } = this.session;
    const request_id = createHash("sha256").update(refresh_token).digest("hex").slice(0, 32);
    this.session = (await promisify(this.sessions.Refresh.bind(this.sessions))({ refresh_token, request_id })).session;
  }

  // At TABLE, or at one of our own.
  async sit(table) {
    const call = (method, request) => promisify(this.lobby[method].bind(this.lobby))(request, this.metadata());
    if (table) {
      this.table = table;
      await call("Join", { table, command_id: this.fresh() });
      return;
    }
    const { EDITION: edition = "rugpull", ROUNDS = "5" } = process.env;
    const opened = await call("CreateTable", { request_id: this.fresh(), edition, options: { round_limit: Number(ROUNDS) } });
    this.table = opened.table;
    for (const method of ["AddBot", "AddBot", "Start"]) await call(method, { table: this.table, command_id: this.fresh() });
  }

  // One stream after another until the game is over.
  async play() {
    while (!this.over) {
      let waitMs = 0;
      try {
        waitMs = await this.stream();
      } catch (error) {
        if (error.code === grpc.status.UNAUTHENTICATED && reasonOf(error) === "TOKEN_EXPIRED") await this.renew();
        else if (error.code === undefined || FINAL.includes(grpc.status[error.code])) throw error;
      }
      if (this.over) break;
      await sleep(Math.max(waitMs, this.pauseMs * (0.5 + Math.random() / 2)));
      this.pauseMs = Math.min(2 * this.pauseMs, 5000);
    }
  }

  // One stream to its end; how many milliseconds to wait before the next.
  async stream() {
    this.streams++;
    this.call = this.plays.Play(this.metadata());
    let again = 0;
    this.follow();
    if (this.pending) this.send({ act: this.pending }); // what became of it is unknown: it is done once
    for await (const message of this.call) {
      this.pauseMs = 100;
      for (const response of [message, ...message.along]) { // what comes at the same moment comes in one message
        const kind = response.response; // undefined: a kind that these protos do not know
        if (kind === "reconnect") again = Date.now() + ms(response.reconnect.after);
        else if (kind) this[`on_${kind}`]?.(response[kind]);
      }
      if (this.over) this.call.end(); // who closes a stream leaves on purpose; the server ends it then
      else if (this.prompt && !this.pending) this.act(this.prompt);
    }
    return Math.max(0, again - Date.now());
  }

  send(request) {
    if (!this.over && this.call.writable) this.call.write(request); // else the next stream begins with what is pending
  }

  follow() {
    this.send({ follow: { table: this.table, resume: this.resume } });
  }

  act(prompt) {
    this.prompt = null;
    const kind = FIRST.find((kind) => prompt.actions.some((listed) => listed.kind === kind));
    if (!kind) return;
    const action = actionOf(prompt.actions.find((listed) => listed.kind === kind));
    this.pending = { table: this.table, command_id: this.fresh(), action, prompt_id: prompt.prompt_id };
    this.send({ act: this.pending });
  }

  // In place of all before it, whatever its version.
  on_snapshot({ view, resume }) {
    this.resume = resume;
    this.cash = view.seats.map((seat) => seat.cash);
    this.over = view.phases.includes("PHASE_OVER");
  }

  on_commit({ epoch, version, command_id, events }) {
    const at = this.resume;
    if (!at || epoch !== at.epoch || version <= at.version) return; // known, or of a history that a snapshot replaces
    if (events.some((event) => event.must_understand && !event.kind)) {
      this.resume = null; // our picture cannot go on from here: take another
      this.follow();
      return;
    }
    at.version = version;
    if (command_id && command_id === this.pending?.command_id) this.pending = this.prompt = null; // done: as good as its answer
    for (const { kind, paid } of events) {
      if (kind === "paid" && paid.payer >= 0) this.cash[paid.payer] -= paid.amount;
      if (kind === "paid" && paid.payee >= 0) this.cash[paid.payee] += paid.amount;
      if (kind === "game_ended") this.over = true;
    }
  }

  on_chat({ number }) {
    if (this.resume) this.resume.chat = Math.max(this.resume.chat, number);
  }

  on_left({ reason }) {
    throw new Error(`followed no longer: ${reason}`);
  }

  on_prompt(prompt) {
    this.prompt = prompt.prompt_id ? prompt : null;
  }

  on_legal(prompt) {
    this.on_prompt(prompt);
  }

  on_accepted({ command_id, duplicate }) {
    this.duplicates += duplicate;
    if (command_id === this.pending?.command_id) this.pending = null;
  }

  on_refused({ command_id, status }) {
    const { code, waitMs } = reason(status);
    if (["UNAVAILABLE", "RATE_LIMITED"].includes(code)) { // the same again, a command under the same id
      setTimeout(() => {
        if (!command_id) this.follow();
        else if (command_id === this.pending?.command_id) this.send({ act: this.pending });
      }, waitMs || 500);
    } else if (!command_id) {
      throw new Error(`${status.message} (${code})`);
    } else { // no, and the sentence says why; whether we know the code or not: what may we do instead?
      console.error(status.message);
      this.pending = null;
      this.send({ ask_legal: { table: this.table } });
    }
  }
}

const [address, table] = process.argv.slice(2);
const player = new Player(address);
await player.signIn();
await player.sit(table);
await player.play();
for (const client of player.clients) client.close();
const { commands, streams, duplicates, cash, resume } = player;
console.log(JSON.stringify({ table: player.table, commands, streams, duplicates, cash, version: resume.version }));
