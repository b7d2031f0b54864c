/**
 * Guard holds values that must reach no fact. The values stay in memory. The guard masks them
 * in every text that the client records.
 */
export class Guard {
  #values = new Map();
  #sorted = [];

  /** withhold adds a value, with the policy and the reason of its redaction. */
  withhold(value, { policy_ref, reason }) {
    if (!value || !policy_ref || !reason) throw new Error("a withheld value needs a value, a policy_ref and a reason");
    this.#values.set(value, { policy_ref, reason });
    this.#sorted = [...this.#values.keys()].sort((a, b) => b.length - a.length);
  }

  /** mask returns a text without the withheld values, and the redactions that it made. */
  mask(text) {
    const hits = [];
    for (const value of this.#sorted) {
      if (!text.includes(value)) continue;
      text = text.replaceAll(value, "[redacted]");
      hits.push({ value, ...this.#values.get(value) });
    }
    return { text, hits };
  }

  /** maskAll returns a copy of a JSON value without the withheld values in any text or name. */
  maskAll(value) {
    if (this.#values.size === 0) return value;
    if (typeof value === "string") return this.mask(value).text;
    if (Array.isArray(value)) return value.map((element) => this.maskAll(element));
    if (value && typeof value === "object" && !(value instanceof Date)) {
      return Object.fromEntries(Object.entries(value).map(([name, member]) => [this.mask(name).text, this.maskAll(member)]));
    }
    return value;
  }
}
