/**
 * Mines templates from log messages: messages that differ only in their parameters share a group.
 *
 * Drain (He et al. 2017) merges greedily while reading, so one early similarity fixes a group for good and "VM started"
 * and "VM stopped" end in one template. Here reading is exact (masked tokens are the key, one map look-up per message) and
 * generalising is a second step over the distinct shapes: a column becomes a parameter when many different words stand in
 * it. Memory is bounded by `maxGroups`: when that is reached the shapes are consolidated and reading goes on.
 */

export interface DrainOptions {
  /** Distinct shapes held at a time. @default 4000 */
  readonly maxGroups?: number
}

/** Different words in one column from which on it is a parameter. */
const COLUMN_VARIETY = 5
/** Tokens of a message that are looked at. */
const MAX_TOKENS = 60

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
  /** The words of the widest open column with their counts, when they are few: which verb, which event. */
  readonly variants?: Variants
}

export interface Drain {
  /** Drains of the same messages can share the work of `shapeOf`. */
  add(message: string, ordinal: number, shape?: MessageShape): void
  /** Groups, most frequent first. */
  groups(): LogGroup[]
  /** The group that a message which was added belongs to; undefined for a shape never seen. Call after `groups`. */
  groupOf(message: string): number | undefined
  /** Messages that found no room among `maxGroups` shapes. */
  unmatched(): number
}

export function createDrain({ maxGroups = 4_000 }: DrainOptions = {}): Drain {
  let shapes = new Map<string, Shape>()
  /** Key of a shape that was merged → key of the shape that took it. */
  const merged = new Map<string, string>()
  let nextId = 0
  let unmatched = 0
  let full = false

  function consolidate(): void {
    const list = joinRare(mergeColumns([...shapes.values()]))
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
    add(message, ordinal, { key, tokens } = shapeOf(message)) {
      const known = find(key)
      if (known !== undefined) {
        known.count++
        known.last = ordinal
        // Counted by word only while shapes are merged: a late member would make the counts wrong.
        known.variants = undefined
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
      shapes.set(key, { id: nextId++, tokens: [...tokens], count: 1, first: ordinal, last: ordinal, example })
    },
    groups() {
      consolidate()
      return [...shapes.values()]
        .sort((a, b) => b.count - a.count || a.id - b.id)
        .map(({ id, tokens, count, first, last, example, variants }) => ({
          id,
          template: tokens.join('').trim(),
          count,
          first,
          last,
          example,
          variants,
        }))
    },
    groupOf: (message) => find(shapeOf(message).key)?.id,
    unmatched: () => unmatched,
  }
}

/** Second step of mining: which shapes of messages are one template. */

/** Joins the tokens of a shape to its key; no message holds it. */
const SEPARATOR = '\u0001'

/** Words that stood in one place, with their counts. */
type Variants = readonly (readonly [string, number])[]

interface Shape {
  id: number
  tokens: string[]
  count: number
  first: number
  last: number
  example: string
  variants?: Variants
}

interface Cluster {
  shape: Shape
  /** Keys of the shapes inside. */
  members: string[]
}

function absorb(into: Shape, from: Shape): void {
  into.variants = undefined
  if (from.first < into.first) {
    into.first = from.first
    into.example = from.example
  }
  into.count += from.count
  into.last = Math.max(into.last, from.last)
  into.id = Math.min(into.id, from.id)
}

/** Shapes that differ in one column only become one when that column holds many words. Repeats, since columns open one by one. */
function mergeColumns(shapes: readonly Shape[]): Cluster[] {
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
    const wide = [...columns]
      .filter(([, list]) => list.length >= COLUMN_VARIETY)
      .sort((a, b) => b[1].length - a[1].length)
    for (const [key, list] of wide) {
      const free = list.filter((cluster) => !taken.has(cluster))
      if (free.length < COLUMN_VARIETY) continue
      out.push(join(free, key.split(SEPARATOR)))
      for (const cluster of free) taken.add(cluster)
    }
    if (out.length === 0) break
    clusters = coalesce([...out, ...clusters.filter((cluster) => !taken.has(cluster))])
  }
  return clusters
}

/** Clusters that became the same template are one: counted twice, three words would look like six. */
function coalesce(clusters: readonly Cluster[]): Cluster[] {
  const byKey = new Map<string, Cluster>()
  for (const cluster of clusters) {
    const key = cluster.shape.tokens.join(SEPARATOR)
    const known = byKey.get(key)
    if (known === undefined) byKey.set(key, cluster)
    else {
      const { variants } = known.shape
      absorb(known.shape, cluster.shape)
      known.shape.variants = mergeVariants(variants, cluster)
      known.members.push(...cluster.members)
    }
  }
  return [...byKey.values()]
}

/** A member that was open in this column from the start is a word of its own kind. */
const mergeVariants = (variants: Variants | undefined, { shape }: Cluster): Variants | undefined =>
  variants === undefined || shape.variants !== undefined ? undefined : [...variants, [WILDCARD, shape.count]]

const isConstant = (token: string): boolean => !isWildcard(token) && isWord(token)
/** The same place, open. */
const opened = (token: string): string => (token.startsWith(' ') ? ` ${WILDCARD}` : WILDCARD)

const keyWithout = (tokens: readonly string[], index: number): string =>
  tokens.with(index, opened(tokens[index]!)).join(SEPARATOR)

function join(clusters: readonly Cluster[], tokens: string[]): Cluster {
  const shape: Shape = { ...clusters[0]!.shape, tokens }
  for (const other of clusters.slice(1)) absorb(shape, other.shape)
  if (clusters.length <= MAX_VARIANTS) shape.variants = variantsOf(clusters, tokens)
  return { shape, members: clusters.flatMap((cluster) => cluster.members) }
}

const MAX_VARIANTS = 12

/** The words that stood where the joined template is open, most frequent first. */
function variantsOf(clusters: readonly Cluster[], tokens: readonly string[]): Variants | undefined {
  const { tokens: first } = clusters[0]!.shape
  const column = tokens.findIndex((token, i) => isWildcard(token) && !isWildcard(first[i]!))
  if (column < 0) return undefined
  return clusters.map(({ shape }) => [shape.tokens[column]!.trim(), shape.count] as const).sort((a, b) => b[1] - a[1])
}

const RARE = 2

/** A rare shape that differs from a template in one place only, where that one is open, belongs to it. */
function joinRare(clusters: readonly Cluster[]): Cluster[] {
  const frequent = new Map(
    clusters
      .filter(({ shape }) => shape.count > RARE)
      .map((cluster) => [cluster.shape.tokens.join(SEPARATOR), cluster] as const),
  )
  return clusters.filter(({ shape, members }) => {
    const { count, tokens } = shape
    if (count > RARE) return true
    const at = tokens.findIndex((token, i) => isConstant(token) && frequent.has(keyWithout(tokens, i)))
    if (at < 0) return true
    const target = frequent.get(keyWithout(tokens, at))!
    absorb(target.shape, shape)
    target.members.push(...members)
    return false
  })
}

/** Turns a log message into masked tokens, the shape by which messages are grouped. */

const WILDCARD = '<*>'

const isWildcard = (token: string): boolean => token === WILDCARD || token === ` ${WILDCARD}`
const isWord = (token: string): boolean => /[A-Za-z]/.test(token)

const MONTH_DATES =
  /(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +)?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2},? +(?:\d{4} +)?\d{1,2}:\d{2}:\d{2}(?: +[A-Z]{3})?(?: +\d{4})?/g

const UNIT = /^(?:[KMGT]?i?B|bytes|[mun]?s|seconds?|%)[,;)\]]?$/

/** A name follows these words: of a user, a host, a file. */
const NAMES_NEXT = /^ ?(?:user|users?=|ruser=|for|from|by|host|rhost=|logname=|file|name|name=|tag=)$/i

/**
 * Masked tokens of a message; one that follows white space keeps a space in front, so that a template reads like its
 * messages. Words are split at the punctuation that separates a key from its value; whatever holds a digit or a slash is a
 * parameter; neighbouring parameters are one, so that "10.0.0.1:80" and a list of ten numbers look alike.
 */
function tokenise(message: string): string[] {
  const text = message.slice(0, MAX_MESSAGE_CHARS).replaceAll(MONTH_DATES, WILDCARD)
  const tokens: string[] = []
  for (const word of text.split(/[\t-\r ]+/)) {
    if (tokens.length >= MAX_TOKENS) break
    if (word !== '') addWord(tokens, word)
  }
  return tokens
}

const MAX_MESSAGE_CHARS = 2_000
/**
 * A token ends behind what opens and before what closes. "()" and "(host.name)" are the same place, empty or not, and a token of their own.
 */
const TOKEN = /\([\w.-]*\)|["',;]|[)\]}]?[^=:,;([{"')\]}]*(?:(?!\([\w.-]*\))[=:([{])?/g

function addWord(tokens: string[], word: string): void {
  const last = tokens[tokens.length - 1]
  // "5.2 KB" and "523 B" are one parameter each.
  if (last !== undefined && isWildcard(last) && UNIT.test(word)) return
  if (word.includes('/') && word !== '/') return addPath(tokens, word)
  for (const { 0: token, index } of word.matchAll(TOKEN))
    if (token !== '') push(tokens, /^\(.*\)$/.test(token) ? '(<*>)' : token, index === 0)
}

/** A path or URL with its query is one parameter, whatever separators it holds; quotes and brackets around it stay. */
function addPath(tokens: string[], word: string): void {
  const head = /^["'([{<]*/.exec(word)![0]
  const tail = /["')\]}>,;:.]*$/.exec(word)![0]
  // "src:/10.0.0.1:80" keeps its key.
  const body = word.slice(head.length, word.length - tail.length)
  const key = /^[A-Za-z_]+[=:](?=\/)/.exec(body)?.[0] ?? ''
  if (head + key !== '') push(tokens, head + key, true)
  push(tokens, WILDCARD, head + key === '')
  if (tail !== '') push(tokens, tail, false)
}

function push(tokens: string[], token: string, spaced: boolean): void {
  const last = tokens[tokens.length - 1]
  if (!isParameter(token, last)) {
    tokens.push(spaced ? ` ${token}` : token)
    return
  }
  if (!spaced && last !== undefined) {
    if (isWildcard(last)) return
    const before = tokens[tokens.length - 2]
    if ((last === ',' || last === ':') && before !== undefined && isWildcard(before)) return void tokens.pop()
  }
  tokens.push(spaced ? ` ${WILDCARD}` : WILDCARD)
}

function isParameter(token: string, previous: string | undefined): boolean {
  if (/\d/.test(token) || (token.includes(WILDCARD) && token !== '(<*>)')) return true
  if (previous === undefined || !namesNext(previous) || !isWord(token)) return false
  // "for user root": the name comes one word later. "Invalid user user": it is the name.
  return !token.endsWith('=') && (/^ ?user/i.test(previous) || !namesNext(token))
}

const namesNext = (token: string): boolean => NAMES_NEXT.test(token)

/** The masked tokens of a message and the key that they make. */
export interface MessageShape {
  readonly key: string
  readonly tokens: readonly string[]
}

export function shapeOf(message: string): MessageShape {
  const tokens = tokenise(message)
  return { key: tokens.join(SEPARATOR), tokens }
}
