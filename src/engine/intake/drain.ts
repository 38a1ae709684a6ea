/**
 * Mines templates from log messages: messages that differ only in their parameters share a group.
 *
 * Drain (He et al. 2017) merges greedily while reading, so one early similarity fixes a group for good and "VM started"
 * and "VM stopped" end in one template. Here reading is exact (masked tokens are the key, one map look-up per message) and
 * generalising is a second step over the distinct shapes: a column becomes a parameter when many different words stand in
 * it. Memory is bounded by `maxGroups`: when that is reached the shapes are consolidated and reading goes on.
 */
export interface DrainOptions {
  /** Different words in one column from which on it is a parameter. @default 5 */
  readonly columnVariety?: number
  /** Share of equal tokens that joins rare shapes. @default 0.6 */
  readonly similarity?: number
  /** Distinct shapes held at a time. @default 4000 */
  readonly maxGroups?: number
  /** Tokens of a message that are looked at. @default 60 */
  readonly maxTokens?: number
}

export interface LogGroup {
  readonly id: number
  /** Constant tokens, with `<*>` for what varies. */
  readonly template: string
  readonly count: number
  /** Ordinal numbers (as given to `add`) of the first and last member. */
  readonly first: number
  readonly last: number
  /** First member, as it was. */
  readonly example: string
}

export interface Drain {
  add(message: string, ordinal: number): void
  /** Groups, most frequent first. */
  groups(): LogGroup[]
  /** The group that a message which was added belongs to; undefined for a shape never seen. Call after `groups`. */
  groupOf(message: string): number | undefined
  /** Messages that found no room among `maxGroups` shapes. */
  readonly unmatched: number
}

const WILDCARD = '<*>'
const SEPARATOR = '\u0001'

interface Shape {
  id: number
  tokens: string[]
  count: number
  first: number
  last: number
  example: string
}

export function createDrain(options: DrainOptions = {}): Drain {
  const { columnVariety = 5, similarity = 0.6, maxGroups = 4_000, maxTokens = 60 } = options
  let shapes = new Map<string, Shape>()
  /** Key of a shape that was merged → key of the shape that took it. */
  const merged = new Map<string, string>()
  let nextId = 0
  let unmatched = 0
  let full = false

  function consolidate(): void {
    const list = mergeRare(mergeColumns([...shapes.values()], columnVariety), similarity)
    const next = new Map<string, Shape>()
    for (const { shape, members } of list) {
      const key = shape.tokens.join(SEPARATOR)
      const holder = next.get(key)
      if (holder === undefined) next.set(key, shape)
      else absorb(holder, shape)
      for (const member of members) if (member !== key) merged.set(member, key)
    }
    shapes = next
    // Look-up hints are bounded too; without a hint a message simply becomes a shape again and merges at the next turn.
    if (merged.size > maxGroups * 10) merged.clear()
  }

  function find(key: string): Shape | undefined {
    let at: string | undefined = key
    for (let hops = 0; at !== undefined && hops < 8; hops++) {
      const shape = shapes.get(at)
      if (shape !== undefined) return shape
      at = merged.get(at)
    }
    return undefined
  }

  return {
    add(message, ordinal) {
      const tokens = tokenise(message, maxTokens)
      const key = tokens.join(SEPARATOR)
      const known = shapes.get(key) ?? find(key)
      if (known !== undefined) {
        known.count++
        known.last = ordinal
        return
      }
      if (shapes.size >= maxGroups) {
        if (!full) consolidate()
        // A log of prose never settles: after one fruitless pass the rest is only counted.
        if (shapes.size > maxGroups * 0.9) {
          full = true
          unmatched++
          return
        }
      }
      const example = message.length > 400 ? `${message.slice(0, 400)}…` : message
      shapes.set(key, { id: nextId++, tokens, count: 1, first: ordinal, last: ordinal, example })
    },
    groups() {
      consolidate()
      return [...shapes.values()]
        .sort((a, b) => b.count - a.count || a.id - b.id)
        .map(({ id, tokens, count, first, last, example }) => ({
          id,
          template: tokens.join('').trim(),
          count,
          first,
          last,
          example,
        }))
    },
    groupOf: (message) => find(tokenise(message, maxTokens).join(SEPARATOR))?.id,
    get unmatched() {
      return unmatched
    },
  }
}

interface Cluster {
  shape: Shape
  /** Keys of the shapes inside. */
  members: string[]
}

function absorb(into: Shape, from: Shape): void {
  if (from.first < into.first) {
    into.first = from.first
    into.example = from.example
  }
  into.count += from.count
  into.last = Math.max(into.last, from.last)
  into.id = Math.min(into.id, from.id)
}

/** Shapes that differ in one column only become one when that column holds many words. Repeats, since columns open one by one. */
function mergeColumns(shapes: readonly Shape[], variety: number): Cluster[] {
  let clusters: Cluster[] = shapes.map((shape) => ({ shape, members: [shape.tokens.join(SEPARATOR)] }))
  for (let round = 0; round < 4; round++) {
    const columns = new Map<string, Cluster[]>()
    for (const cluster of clusters) {
      const { tokens } = cluster.shape
      for (let i = 0; i < tokens.length; i++) {
        if (!isConstant(tokens[i]!) || !tokens.some((token, j) => j !== i && isConstant(token))) continue
        const key = keyWithout(tokens, i)
        const list = columns.get(key)
        if (list === undefined) columns.set(key, [cluster])
        else list.push(cluster)
      }
    }
    const taken = new Set<Cluster>()
    const out: Cluster[] = []
    const wide = [...columns].filter(([, list]) => list.length >= variety).sort((a, b) => b[1].length - a[1].length)
    for (const [key, list] of wide) {
      const free = list.filter((cluster) => !taken.has(cluster))
      if (free.length < variety) continue
      out.push(join(free, key.split(SEPARATOR)))
      for (const cluster of free) taken.add(cluster)
    }
    if (out.length === 0) break
    clusters = [...out, ...clusters.filter((cluster) => !taken.has(cluster))]
  }
  return clusters
}

const isWildcard = (token: string): boolean => token === WILDCARD || token === ` ${WILDCARD}`
const isConstant = (token: string): boolean => !isWildcard(token) && isWord(token)
/** The same place, open. */
const opened = (token: string): string => (token.startsWith(' ') ? ` ${WILDCARD}` : WILDCARD)

const keyWithout = (tokens: readonly string[], index: number): string =>
  tokens.with(index, opened(tokens[index]!)).join(SEPARATOR)

function join(clusters: readonly Cluster[], tokens: string[]): Cluster {
  const shape: Shape = { ...clusters[0]!.shape, tokens }
  for (const other of clusters.slice(1)) absorb(shape, other.shape)
  return { shape, members: clusters.flatMap((cluster) => cluster.members) }
}

/** A frequent shape is a template already; a rare one beside it is more likely another event than a member. */
const RARE_TARGET = 10

/** Shapes seen once or twice with several columns open at a time: joined to a similar one of the same length and start. */
function mergeRare(clusters: readonly Cluster[], similarity: number): Cluster[] {
  const leaves = new Map<string, Cluster[]>()
  const out: Cluster[] = []
  for (const cluster of clusters.toSorted((a, b) => b.shape.count - a.shape.count || a.shape.id - b.shape.id)) {
    const { tokens } = cluster.shape
    const leafKey = `${tokens.length}${SEPARATOR}${tokens[0] ?? ''}`
    let leaf = leaves.get(leafKey)
    if (leaf === undefined) leaves.set(leafKey, (leaf = []))
    const target = cluster.shape.count <= 2 ? mostSimilar(leaf, tokens, similarity) : undefined
    if (target === undefined) {
      const kept = { shape: { ...cluster.shape, tokens: [...tokens] }, members: [...cluster.members] }
      // A leaf is searched linearly, so it may not grow without end.
      if (leaf.length < 200) leaf.push(kept)
      out.push(kept)
      continue
    }
    generalise(target.shape.tokens, tokens)
    absorb(target.shape, cluster.shape)
    target.members.push(...cluster.members)
  }
  return out
}

function mostSimilar(leaf: readonly Cluster[], tokens: readonly string[], threshold: number): Cluster | undefined {
  let best: Cluster | undefined
  let bestShare = threshold
  for (const cluster of leaf) {
    if (cluster.shape.count > RARE_TARGET) continue
    const share = shareOfEqual(cluster.shape.tokens, tokens)
    if (share >= bestShare) {
      bestShare = share
      best = cluster
    }
  }
  return best
}

function shareOfEqual(a: readonly string[], b: readonly string[]): number {
  let equal = 0
  for (let i = 0; i < a.length; i++) if (a[i] === b[i]) equal++
  return a.length === 0 ? 1 : equal / a.length
}

function generalise(template: string[], tokens: readonly string[]): void {
  for (let i = 0; i < template.length; i++) if (template[i] !== tokens[i]) template[i] = opened(template[i]!)
}

const MONTHS = 'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec'
const DAYS = 'Mon|Tue|Wed|Thu|Fri|Sat|Sun'
/** Parameters that are recognised without looking at other messages, longest forms first. */
const MASKS: readonly RegExp[] = [
  new RegExp(
    `(?:(?:${DAYS}),? +)?(?:${MONTHS}) +\\d{1,2},? +(?:\\d{4} +)?\\d{1,2}:\\d{2}:\\d{2}(?: +[A-Z]{3})?(?: +\\d{4})?`,
    'g',
  ),
  /\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d+)?Z?)?/g,
  /\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b/g,
  /\/?\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b(?:,\s?(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b)*/g,
  /\b(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}\b/g,
  /\b0x[0-9a-fA-F]+\b/g,
  /\b\d+(?:\.\d+)? ?(?:[KMGT]?i?B|bytes|[mun]?s|%)(?=[\s,;)\]]|$)/g,
]
/** A path or URL with its query is one parameter, whatever separators it holds. */
const PATH = /(?:\b[a-z][a-z0-9+.-]{1,9}:\/)?\/[^\s"',;)\]}]+/g
const EMPTY_OR_HOST = /\(\s*[\w.<>*-]*\s*\)/g
const SPLIT = /(?=\s)(?<=\S)|(?<=[=:,;([{"'])|(?=[)\]}"',;])/

/** Words after these name somebody or something: a user, a host, a file. */
const NAMES_NEXT = /^(?:user|users?=|ruser=|for|from|by|host|rhost=|logname=|file|name|name=|tag=)$/i

/** Masked tokens; one that follows white space keeps a space in front, so that a template reads like its messages. */
export function tokenise(message: string, maxTokens: number): string[] {
  let text = message.length > 2_000 ? message.slice(0, 2_000) : message
  if (/\d/.test(text)) for (const mask of MASKS) text = text.replace(mask, WILDCARD)
  text = text.replace(PATH, WILDCARD).replace(EMPTY_OR_HOST, '(<*>)')
  const out: string[] = []
  let previous: string | undefined
  let spaced = false
  for (const piece of text.split(SPLIT)) {
    const token = piece.trim()
    spaced ||= token.length < piece.length
    if (token === '') continue
    const word = isParameter(token, previous) ? WILDCARD : token
    out.push(spaced ? ` ${word}` : word)
    previous = word
    spaced = false
    if (out.length === maxTokens) break
  }
  return out
}

function isParameter(token: string, previous: string | undefined): boolean {
  if (/[\d/]|<\*>/.test(token)) return true
  if (previous === undefined || !NAMES_NEXT.test(previous) || !isWord(token)) return false
  // "for user root": the name comes one word later. "Invalid user user": it is the name.
  return !token.endsWith('=') && (/^user/i.test(previous) || !NAMES_NEXT.test(token))
}

const isWord = (token: string): boolean => /[A-Za-z]/.test(token)
