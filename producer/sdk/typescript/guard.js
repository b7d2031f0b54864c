import { holdsWord } from "./key.js";

/**
 * Guard holds values that must reach no fact, in memory only. It masks each exact value in every
 * text that the client records. It writes the same text as Go's package redact.
 */
export class Guard {
  #hits = new Map();

  /** withhold adds a value, with the policy and the reason of its redaction. */
  withhold(value, { policy_ref, reason }) {
    if (!value || !policy_ref || !reason) throw new Error("a withheld value needs a value, a policy_ref and a reason");
    if (holdsWord(value)) throw new Error("the value is a word of the event contract, which every event holds; withhold the secret itself");
    if (/["\\[\]%\p{C}]|(?! )\p{Z}/u.test(policy_ref)) throw new Error('the policy ref has a control character, or one of "\\[]%; use another policy ref');
    const refs = new Set([...this.#hits.values()].map((hit) => hit.policy_ref).concat(policy_ref));
    for (const one of [...this.#hits.keys(), value]) {
      for (const ref of refs) {
        if (one.length >= 4 && ref.toLowerCase().includes(one.toLowerCase())) {
          throw new Error("a value is part of a policy ref, which would publish it; use another policy ref");
        }
      }
    }
    if (!this.#hits.has(value)) this.#hits.set(value, { value, policy_ref, reason });
  }

  /**
   * mask returns a text with "[redacted:<policy ref>]" in place of the withheld values, and the
   * redactions that it made, each value once.
   */
  mask(text) {
    const found = this.#find(text);
    if (found.length === 0) return { text, hits: [] };
    let masked = "";
    let at = 0;
    for (let i = 0; i < found.length; ) {
      let [start, end, hit] = found[i];
      for (; i < found.length && found[i][0] < end; i++) end = Math.max(end, found[i][1]);
      masked += text.slice(at, start) + placeholder(hit.policy_ref);
      at = end;
    }
    masked += text.slice(at);
    const hits = [...new Set(found.map(([, , hit]) => hit))];
    // A placeholder and the text around it can form a value by chance.
    return { text: this.#find(masked).length > 0 ? placeholder(hits[0].policy_ref) : masked, hits };
  }

  /** find returns the places of the values, by start, the longest first. Placeholders are not searched. */
  #find(text) {
    const found = [];
    for (const [value, hit] of this.#hits) {
      for (const [start, end] of places(text, value)) found.push([start, end, hit]);
    }
    if (found.length === 0) return found;
    const shown = text.includes("[redacted:") ? [...new Set([...this.#hits.values()].map((hit) => placeholder(hit.policy_ref)))].flatMap((one) => places(text, one)) : [];
    return found.filter(([start, end]) => !shown.some(([s, e]) => s <= start && end <= e)).sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  }

  /**
   * maskAll returns a copy of a JSON value without the withheld values in any text, name or number
   * of 8 digits or more. The list gets the redactions that it made.
   */
  maskAll(value, hits = []) {
    if (this.#hits.size === 0) return value;
    if (typeof value === "string") {
      const masked = this.mask(value);
      for (const hit of masked.hits) if (!hits.includes(hit)) hits.push(hit);
      return masked.text;
    }
    if (typeof value === "number" || typeof value === "bigint") {
      const text = String(value);
      return text.length >= 8 && this.#hits.has(text) ? this.maskAll(text, hits) : value;
    }
    if (Array.isArray(value)) return value.map((element) => this.maskAll(element, hits));
    if (value && typeof value === "object" && typeof value.toJSON !== "function") {
      return Object.fromEntries(Object.entries(value).map(([name, member]) => [this.maskAll(name, hits), this.maskAll(member, hits)]));
    }
    return value;
  }
}

function placeholder(policyRef) {
  return `[redacted:${policyRef}]`;
}

/** places returns the places of a value. Places that overlap are one. */
function places(text, value) {
  const found = [];
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    if (found.length > 0 && at < found.at(-1)[1]) found.at(-1)[1] = at + value.length;
    else found.push([at, at + value.length]);
  }
  return found;
}
