/**
 * Mines templates from log messages: messages that differ only in their parameters share a group.
 *
 * Drain (He et al. 2017) merges greedily while reading, so one early similarity fixes a group for good and "VM started"
 * and "VM stopped" end in one template. Here reading is exact (masked tokens are the key, one map look-up per message) and
 * generalising is a second step over the distinct shapes: a column becomes a parameter when many different words stand in
 * it. Memory is bounded: messages beyond `MAX_GROUPS` shapes are not counted.
 */

/** Distinct shapes held. */
const MAX_GROUPS = 4_000
/** Different words in one column from which on it is a parameter. */
const COLUMN_VARIETY = 5
const RARE = 2
/** Columns open one by one; a template with more open words than this is not worth another round. */
const MAX_ROUNDS = 4
/** Tokens of a message that are looked at. */
const MAX_TOKENS = 60

export interface LogGroup {
  /** Constant tokens, with `<*>` for what varies. */
  readonly template: string
  readonly count: number
  /** Ordinal numbers (as given to `add`) of the first and last member. */
  readonly first: number
  readonly last: number
  /** First member, as it was. */
  readonly example: string
}

interface Shape {
  readonly tokens: readonly string[]
  count: number
  first: number
  last: number
  example: string
}

export class Drain {
  readonly #shapes = new Map<string, Shape>()

  add(message: string, ordinal: number): void {
    const tokens = tokenise(message)
    const key = tokens.join(SEPARATOR)
    const known = this.#shapes.get(key)
    if (known !== undefined) {
      known.count++
      known.last = ordinal
    } else if (this.#shapes.size < MAX_GROUPS) {
      const example = message.length > 400 ? `${message.slice(0, 400)}…` : message
      this.#shapes.set(key, { tokens, count: 1, first: ordinal, last: ordinal, example })
    }
  }

  /** Groups, most frequent first. */
  groups(): LogGroup[] {
    let shapes = [...this.#shapes.values()]
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const merged = openColumns(shapes)
      if (merged.length === shapes.length) break
      shapes = merged
    }
    return shapes
      .sort((a, b) => b.count - a.count || a.first - b.first)
      .map(({ tokens, ...group }) => ({ ...group, template: tokens.join('').trim() }))
  }
}

/** Joins the tokens of a shape to its key; no message holds it. */
const SEPARATOR = '\u0001'

const keyOf = ({ tokens }: Shape): string => tokens.join(SEPARATOR)

/** Shapes that differ in one column only become one when that column holds many words. */
function openColumns(shapes: readonly Shape[]): Shape[] {
  const columns = new Map<string, Shape[]>()
  for (const shape of shapes) {
    for (const key of openings(shape.tokens)) {
      const list = columns.get(key)
      if (list === undefined) columns.set(key, [shape])
      else list.push(shape)
    }
  }
  const templates = new Map<string, Shape>()
  const put = (key: string, shape: Shape): void => {
    const known = templates.get(key)
    const [first, other] = known !== undefined && known.first < shape.first ? [known, shape] : [shape, known]
    templates.set(key, {
      tokens: key.split(SEPARATOR),
      count: first.count + (other?.count ?? 0),
      first: first.first,
      last: Math.max(first.last, other?.last ?? 0),
      example: first.example,
    })
  }
  const taken = new Set<Shape>()
  // The widest column first: each shape joins one template a round.
  for (const [key, list] of [...columns].sort((a, b) => b[1].length - a[1].length)) {
    const free = list.filter((shape) => !taken.has(shape))
    if (free.length < COLUMN_VARIETY) continue
    for (const shape of free) {
      taken.add(shape)
      put(key, shape)
    }
  }
  const frequent = new Set(shapes.filter(({ count }) => count > RARE).map(keyOf))
  for (const shape of shapes) {
    if (taken.has(shape)) continue
    // A rare shape that differs from a template in one word, where that one is open, belongs to it.
    const home = shape.count > RARE ? undefined : openings(shape.tokens).find((key) => frequent.has(key))
    put(home ?? keyOf(shape), shape)
  }
  return [...templates.values()]
}

/** The keys of a shape with each of its words open in turn; one word at least stays. */
function openings(tokens: readonly string[]): string[] {
  const words = tokens.flatMap((token, i) => (!isWildcard(token) && isWord(token) ? [i] : []))
  if (words.length < 2) return []
  return words.map((i) => tokens.with(i, tokens[i]!.startsWith(' ') ? ` ${WILDCARD}` : WILDCARD).join(SEPARATOR))
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
