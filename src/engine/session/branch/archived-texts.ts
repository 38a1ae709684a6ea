/**
 * Which texts the archive holds. Items that differ in white space around their text are the same item to a client that comes back, and two
 * texts to whoever wants the exact bytes.
 */
export class ArchivedTexts {
  readonly #identities = new Set<string>()
  /** White space around each archived text, for identities that were seen with some. */
  readonly #edges = new Map<string, Set<string>>()

  /** Some text of this identity. */
  has(identity: string): boolean {
    return this.#identities.has(identity)
  }

  holds(identity: string, text: string): boolean {
    if (!this.#identities.has(identity)) return false
    const edges = edgesOf(text)
    return this.#edges.get(identity)?.has(edges) ?? edges === ''
  }

  add(identity: string, text: string): void {
    const edges = edgesOf(text)
    const known = this.#edges.get(identity)
    if (known !== undefined) known.add(edges)
    else if (edges !== '') this.#edges.set(identity, new Set(this.has(identity) ? ['', edges] : [edges]))
    this.#identities.add(identity)
  }
}

function edgesOf(text: string): string {
  const start = text.length - text.trimStart().length
  const end = text.trimEnd().length
  return start === 0 && end === text.length ? '' : `${text.slice(0, start)}|${text.slice(Math.max(start, end))}`
}
