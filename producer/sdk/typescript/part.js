// A fact with lists that are too long for one event is recorded in parts with one record id, as in
// Go. Sizes are upper bounds of a list's JSON in bytes.
export const maxPartBytes = ((64 << 10) * 3) / 4;

/** chunk divides a list, in order, into parts of at most limit bytes and at least one element. */
export function chunk(list, bytes, limit = maxPartBytes) {
  const parts = [];
  let [from, sum] = [0, 0];
  for (const [i, element] of list.entries()) {
    const size = bytes(element);
    if (i > from && sum + size > limit) {
      parts.push(list.slice(from, i));
      [from, sum] = [i, 0];
    }
    sum += size;
  }
  return [...parts, list.slice(from)];
}

/** partOf returns the number of part i of n for a fact's metadata. A fact with one part has none. */
export function partOf(i, n) {
  return n === 1 ? {} : { part: i + 1, parts: n };
}

/** withMetadata returns the member metadata, if there is any. */
export function withMetadata(...all) {
  const metadata = Object.assign({}, ...all);
  return Object.keys(metadata).length > 0 ? { metadata } : {};
}

/** textBytes returns an upper bound of a text's size in JSON, with quotes and a comma. */
export function textBytes(text = "") {
  return 3 + Buffer.byteLength(text) + 5 * (text.match(/[\0-\x1f"\\]/g)?.length ?? 0);
}

/** tooMany reports whether references take more than their share of one event. */
export function tooMany(refs) {
  return chunk(refs, textBytes, maxPartBytes / 3).length > 1;
}

export function candidateBytes({ id }, score, omission) {
  const signals = Object.keys(score?.signals ?? {}).reduce((sum, name) => sum + textBytes(name) + 32, 0);
  return 96 + 2 * textBytes(id) + 32 + signals + (omission ? textBytes(omission.note) : 0);
}

export function blockBytes({ block, item_refs: [ref], layer, role, digest, redaction_state }) {
  return 192 + textBytes(block) + 2 * textBytes(ref) + [layer, role, undefined, digest, redaction_state].reduce((sum, text) => sum + textBytes(text), 0);
}

export function segmentBytes({ layer, item_refs }) {
  return 128 + 2 * textBytes(layer) + item_refs.reduce((sum, ref) => sum + textBytes(ref), 0);
}

export function truncationBytes({ item_ref, reason }) {
  return 112 + textBytes(item_ref) + textBytes(reason);
}
