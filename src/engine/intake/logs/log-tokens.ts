/** Turns a log message into masked tokens, the shape by which messages are grouped. */

export const WILDCARD = '<*>'

export const isWildcard = (token: string): boolean => token === WILDCARD || token === ` ${WILDCARD}`
export const isWord = (token: string): boolean => /[A-Za-z]/.test(token)

const MONTH_DATE =
  /(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +)?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2},? +(?:\d{4} +)?\d{1,2}:\d{2}:\d{2}(?: +[A-Z]{3})?(?: +\d{4})?/
const MONTH_DATES = new RegExp(MONTH_DATE, 'g')

/** True when a date in words stands in a text, which is one parameter. */
export const holdsMonthDate = (text: string): boolean => /\d:\d/.test(text) && MONTH_DATE.test(text)

const UNIT = /^(?:[KMGT]?i?B|bytes|[mun]?s|seconds?|%)[,;)\]]?$/

/** Words after these name somebody or something: a user, a host, a file. */
const NAMES_NEXT = /^ ?(?:user|users?=|ruser=|for|from|by|host|rhost=|logname=|file|name|name=|tag=)$/i
const LONGEST_NAMES_NEXT = ' logname='.length

/**
 * Masked tokens of a message; one that follows white space keeps a space in front, so that a template reads like its
 * messages. Words are split at the punctuation that separates a key from its value; whatever holds a digit or a slash is a
 * parameter; neighbouring parameters are one, so that "10.0.0.1:80" and a list of ten numbers look alike.
 */
export function tokenise(message: string, maxTokens: number): string[] {
  let text = message.length > 2_000 ? message.slice(0, 2_000) : message
  if (holdsMonthDate(text)) text = text.replaceAll(MONTH_DATES, WILDCARD)
  const tokens: string[] = []
  let at = 0
  while (at < text.length && tokens.length < maxTokens) {
    while (isSpace(text.charCodeAt(at))) at++
    let end = at
    while (end < text.length && !isSpace(text.charCodeAt(end))) end++
    if (end > at) addWord(tokens, text.slice(at, end))
    at = end
  }
  return tokens
}

const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13)

function addWord(tokens: string[], word: string): void {
  const last = tokens[tokens.length - 1]
  // "5.2 KB" and "523 B" are one parameter each.
  if (last !== undefined && isWildcard(last) && UNIT.test(word)) return
  if (word.includes('/') && word !== '/') return addPath(tokens, word)
  let start = 0
  let spaced = true
  for (let i = 0; i < word.length; i++) {
    const code = word.charCodeAt(i)
    if (code === 40) {
      // "()" and "(host.name)" are the same place, empty or not.
      const close = word.indexOf(')', i)
      if (close > i && isPlain(word, i + 1, close)) {
        if (i > start) push(tokens, word.slice(start, i), spaced)
        push(tokens, '(<*>)', spaced && i === start)
        spaced = false
        start = close + 1
        i = close
        continue
      }
    }
    const splits = code < SPLITS.length ? SPLITS[code]! : 0
    if (splits === 0) continue
    if ((splits & CLOSES) !== 0 && i > start) {
      push(tokens, word.slice(start, i), spaced)
      spaced = false
      start = i
    }
    if ((splits & OPENS) !== 0) {
      push(tokens, word.slice(start, i + 1), spaced)
      spaced = false
      start = i + 1
    }
  }
  if (start < word.length) push(tokens, word.slice(start), spaced)
}

/** A token ends behind characters that open… */
const OPENS = 1
/** …and before those that close. */
const CLOSES = 2
/** By character code: a table, since every character of a message is looked up. */
const SPLITS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  return ('=:,;([{"\''.includes(character) ? OPENS : 0) | (')]}"\',;'.includes(character) ? CLOSES : 0)
})

function isPlain(word: string, from: number, to: number): boolean {
  for (let i = from; i < to; i++) {
    const code = word.charCodeAt(i)
    const letter = (code | 32) >= 97 && (code | 32) <= 122
    if (!letter && !(code >= 45 && code <= 57 && code !== 47) && code !== 95) return false
  }
  return true
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
  if (hasDigit(token) || (token.includes(WILDCARD) && token !== '(<*>)')) return true
  if (previous === undefined || !namesNext(previous) || !isWord(token)) return false
  // "for user root": the name comes one word later. "Invalid user user": it is the name.
  return !token.endsWith('=') && (/^ ?user/i.test(previous) || !namesNext(token))
}

const namesNext = (token: string): boolean => token.length <= LONGEST_NAMES_NEXT && NAMES_NEXT.test(token)

function hasDigit(token: string): boolean {
  for (let i = 0; i < token.length; i++) {
    const code = token.charCodeAt(i)
    if (code >= 48 && code <= 57) return true
  }
  return false
}
