/**
 * Remembers lines by 64 bits of hash. A million lines as strings in a `Set` take seconds and hundreds of megabytes; two of a million
 * different lines are taken for one with a chance of one in thirty million, which a share in percent survives.
 */
export class LineSet {
  #slots = new Int32Array(2 * 4_096)
  #size = 0

  /** Adds the line at `from … to` of the text. True when it was there before. */
  add(text: string, from: number, to: number): boolean {
    let a = 0x811c9dc5 | 0
    let b = 0x9747b28c | 0
    for (let i = from; i < to; i++) {
      const code = text.charCodeAt(i)
      a = Math.imul(a ^ code, 0x01000193)
      b = Math.imul((b << 5) ^ (b >>> 27) ^ code, 0x5bd1e995)
    }
    // Zero marks an empty slot.
    if (a === 0) a = 1
    if (this.#place(a, b)) return true
    this.#size++
    if (4 * this.#size > this.#slots.length) this.#grow()
    return false
  }

  #place(a: number, b: number): boolean {
    const slots = this.#slots
    const mask = slots.length / 2 - 1
    for (let slot = (a ^ (b >>> 15)) & mask; ; slot = (slot + 1) & mask) {
      const found = slots[2 * slot]!
      if (found === 0) {
        slots[2 * slot] = a
        slots[2 * slot + 1] = b
        return false
      }
      if (found === a && slots[2 * slot + 1] === b) return true
    }
  }

  #grow(): void {
    const old = this.#slots
    this.#slots = new Int32Array(2 * old.length)
    for (let i = 0; i < old.length; i += 2) if (old[i] !== 0) this.#place(old[i]!, old[i + 1]!)
  }
}
