// One table, followed: the stream says when something has happened, and the picture, the record and what one may do are
// then asked for. So the page shows every kind of event there is or will be, without playing the rules itself.
import { call, chat, lobby, me, millis, number, pause, play, Refused, watch } from "./wire.js";
import { ConnectError } from "./vendor/connect.js";

const LEAST_MS = 280; // between two looks: the gateway takes 20 calls a second of one person

export class Table {
  /** changed: called whenever there is something new to show. */
  constructor(id, { pin = "", language = "", changed }) {
    Object.assign(this, { id, pin, language, changed });
    this.view = null; // the picture, a TableView
    this.edition = null;
    this.board = null;
    this.prompt = null; // what one's seat may do
    this.lines = [];
    this.chat = [];
    this.gone = ""; // why it is followed no longer
    this.afterMs = 0; // when the server wants to see us again
    this.behindMs = 0; // what the server's clock is ahead of ours
    this.version = 0;
    this.resume = undefined;
    this.stopping = new AbortController();
    this.page = { token: "", seen: 0 };
    this.looking = null;
  }

  get seat() {
    return this.view ? this.view.seats.findIndex((seat) => seat.holder === me()?.person) : -1;
  }

  get host() {
    return this.view?.host === me()?.person;
  }

  /** Milliseconds until a time on the table's clock; null: no such time. */
  leftMs(time) {
    if (!time) return null;
    return Math.max(0, millis(time) - millis(this.view.offset) - (Date.now() + this.behindMs));
  }

  stop() {
    this.stopping.abort();
  }

  /** Follows until `stop`, or until the table is gone. Streams that break are opened again where they ended. */
  async run() {
    for (let tries = 0; !this.stopping.signal.aborted; tries += 1) {
      try {
        const asked = { table: this.id, pin: this.pin, resume: this.resume };
        for await (const message of watch.watch(asked, { signal: this.stopping.signal })) {
          tries = 0;
          for (const one of [message, ...message.along]) this.take(one.response);
        }
      } catch (error) {
        if (this.stopping.signal.aborted) return;
        const refused = new Refused(ConnectError.from(error));
        if (refused.signedOut || (refused.code && !refused.passing)) return this.end(refused.message);
      }
      if (this.gone) return;
      await pause(Math.max(this.afterMs, Math.min(200 * 2 ** tries, 5000)));
      this.afterMs = 0;
    }
  }

  take({ case: kind, value }) {
    if (kind === "commit") {
      this.stand(value.epoch, value.version);
    } else if (kind === "snapshot") {
      this.stand(value.view.epoch, value.view.version);
      this.heard(value.resume?.chat ?? 0n);
    } else if (kind === "progress") {
      this.behindMs = millis(value.serverTime) - Date.now();
    } else if (kind === "chat") {
      if (!this.chat.some((line) => line.number === value.number)) this.chat.push(value);
      this.heard(value.number);
      this.changed();
    } else if (kind === "reconnect") {
      this.afterMs = millis(value.after);
    } else if (kind === "left") {
      this.end("This table is shown no longer.");
    }
  }

  stand(epoch, version) {
    this.resume = { epoch, version, chat: this.resume?.chat ?? 0n };
    this.version = Number(version);
    this.look();
  }

  heard(chat) {
    if (this.resume && chat > this.resume.chat) this.resume = { ...this.resume, chat };
  }

  end(why) {
    this.gone = why;
    this.changed();
  }

  /** Looks at the table; what happens meanwhile is looked at once, a little later. */
  look() {
    this.again = true;
    this.looking ??= this.lookAll().finally(() => (this.looking = null));
    return this.looking;
  }

  async lookAll() {
    while (this.again && !this.stopping.signal.aborted) {
      this.again = false;
      try {
        await Promise.all([this.lookOnce(), pause(this.view ? LEAST_MS : 0)]);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (!error.passing) return this.end(error.message);
        this.again = true;
        await pause(1000);
      }
    }
  }

  async lookOnce() {
    const about = { table: this.id, pin: this.pin };
    const { view } = await call(lobby.getTable, { ...about, atLeast: BigInt(this.version) });
    if (this.edition?.digest !== view.digest) {
      const asked = { digest: view.digest, language: this.language };
      this.edition = (await call(lobby.getEdition, asked)).edition;
      this.chat = (await call(chat.lines, about)).lines;
    }
    this.board = this.edition.boards.find((board) => board.id === view.board) ?? this.edition.boards[0];
    this.view = view;
    const seated = this.seat >= 0 && view.inPlay && !view.ended;
    const [prompt] = await Promise.all([
      seated && call(play.legal, { table: this.id, atLeast: view.version }).then((answer) => answer.prompt),
      this.read(about),
    ]);
    this.prompt = prompt || null;
    this.changed();
  }

  /** The lines of the record that are not here yet. */
  async read(about) {
    for (let more = true; more; ) {
      const pageSize = this.lines.length ? 60 : 500;
      const asked = { ...about, pageSize, pageToken: this.page.token, language: this.language };
      const { lines, nextPageToken } = await call(watch.record, asked);
      this.lines.push(...lines.slice(this.page.seen));
      more = Boolean(nextPageToken);
      this.page = more ? { token: nextPageToken, seen: 0 } : { ...this.page, seen: lines.length };
    }
  }
}

/** An amount in an edition's money: a sign before it, a word behind it. */
export function money(edition, amount) {
  const whole = number(amount).toLocaleString("en").replaceAll(",", "\u202f");
  return /\p{L}/u.test(edition.currency) ? `${whole} ${edition.currency}` : `${edition.currency}${whole}`;
}
