/**
 * Runs inside the sandbox before the guest's code: gives it `data`, `artifacts`, `csv`, `lines` and `console`, and keeps the
 * functions that render its answer. It is the body of a function with the parameters (entries, maxCharacters), holds on to
 * the built-ins it needs before the guest can replace them, and returns what only the host gets.
 */
export const GUEST_PRELUDE = `'use strict'
const uncurry = Function.prototype.bind.bind(Function.prototype.call)
const slice = uncurry(String.prototype.slice)
const split = uncurry(String.prototype.split)
const trim = uncurry(String.prototype.trim)
const indexOf = uncurry(String.prototype.indexOf)
const then = uncurry(Promise.prototype.then)
const resolved = Promise.resolve.bind(Promise)
const push = uncurry(Array.prototype.push)
const join = uncurry(Array.prototype.join)
const { parse, stringify } = JSON
const { defineProperty, freeze, fromEntries } = Object
const { isArray, from } = Array
const toText = String
const MapClass = Map, SetClass = Set

const bare = (line) => (line[line.length - 1] === '\\r' ? slice(line, 0, -1) : line)

const linesOf = (text) => {
  // A plain separator: an expression would cost QuickJS ten times as much.
  const all = split(text, '\\n')
  if (all.length > 0 && all[all.length - 1] === '') all.length -= 1
  for (let i = 0; i < all.length; i++) all[i] = bare(all[i])
  return all
}

/** The cells of the row at \`at\`, which has quotes, and where the next row begins. */
const quotedRow = (text, at, separator) => {
  const row = []
  let cell = '', quoted = false, i = at
  for (; i < text.length; i++) {
    const c = text[i]
    if (quoted) {
      if (c !== '"') cell += c
      else if (text[i + 1] === '"') { cell += '"'; i++ }
      else quoted = false
    } else if (c === '"' && cell === '') quoted = true
    else if (c === separator) { push(row, cell); cell = '' }
    else if (c === '\\n') break
    else cell += c
  }
  push(row, bare(cell))
  return [row, i + 1]
}

const csvOf = (text, separator = ',') => {
  const records = []
  let head
  for (let at = 0; at < text.length; ) {
    let end = indexOf(text, '\\n', at)
    if (end === -1) end = text.length
    const line = bare(slice(text, at, end))
    let row
    if (indexOf(line, '"') === -1) { row = split(line, separator); at = end + 1 }
    else [row, at] = quotedRow(text, at, separator)
    if (row.length === 1 && row[0] === '') continue
    if (head === undefined) { head = row; continue }
    const record = {}
    for (let i = 0; i < head.length; i++) record[head[i]] = row[i] ?? ''
    push(records, record)
  }
  return records
}

const valueOf = (text) => {
  const begin = slice(trim(slice(text, 0, 1000)), 0, 1)
  if (begin !== '{' && begin !== '[') return text
  try { return parse(text) } catch (error) {
    const values = []
    try { for (const line of linesOf(text)) if (trim(line) !== '') push(values, parse(line)) } catch { return text }
    return values
  }
}

const lazily = (target, name, make) =>
  defineProperty(target, name, {
    configurable: true, enumerable: true,
    get() { const value = make(); defineProperty(target, name, { value, writable: true, configurable: true, enumerable: true }); return value },
    set(value) { defineProperty(target, name, { value, writable: true, configurable: true, enumerable: true }) },
  })

const artifacts = []
for (const [name, content] of entries) {
  const artifact = { name }
  if (typeof content === 'string') {
    artifact.text = content
    lazily(artifact, 'lines', () => linesOf(content))
    lazily(artifact, 'data', () => valueOf(content))
  } else artifact.bytes = content
  push(artifacts, artifact)
  artifacts[name] = artifact
}

const MAX = maxCharacters
const printed = []
let printedLength = 0
const seen = (value) => {
  if (typeof value === 'string') return value
  if (value === undefined) return 'undefined'
  if (typeof value === 'function' || typeof value === 'symbol') return '[' + typeof value + ']'
  const text = stringify(value, (_, each) => {
    if (typeof each === 'bigint') return toText(each)
    if (typeof each === 'number' && (each !== each || each === Infinity || each === -Infinity)) return toText(each)
    if (each instanceof MapClass) return fromEntries(from(each, ([k, v]) => [toText(k), v]))
    if (each instanceof SetClass) return from(each)
    return each
  })
  return text === undefined ? 'undefined' : text
}
const print = (...values) => {
  // What lies beyond the limit is never kept: a loop that prints does not fill the memory.
  if (printedLength > MAX) return
  const line = slice(join(values.map(seen), ' '), 0, MAX + 1)
  printedLength += line.length + 1
  push(printed, line)
}

const define = (name, value) => defineProperty(globalThis, name, { value, writable: true, configurable: true })
define('artifacts', artifacts)
define('csv', csvOf)
define('lines', linesOf)
define('console', freeze({ log: print, info: print, warn: print, error: print, debug: print, table: print }))
lazily(globalThis, 'data', () => {
  const first = artifacts[0]
  return first === undefined ? undefined : 'data' in first ? first.data : first.bytes
})

let state = 0
let result = ''
const describe = (error) => {
  if (!(error instanceof Error)) return 'Uncaught ' + slice(seen(error), 0, 500)
  const place = /<code>:(\\d+)/.exec(toText(error.stack))
  return slice(toText(error.name) + ': ' + toText(error.message), 0, 1000) + (place === null ? '' : ' (line ' + place[1] + ')')
}
const answer = (value) => {
  try {
    if (value !== undefined) push(printed, slice(seen(value), 0, MAX + 1))
    state = 1
  } catch (error) { state = 2; result = describe(error) }
}
const fail = (error) => {
  state = 2
  try { result = describe(error) } catch { result = 'The code threw something that cannot be shown.' }
}
// A script whose last expression is a promise answers with what that one gives.
const settle = (promise, unwrap) =>
  then(promise, (value) => (unwrap ? void then(resolved(value.value), answer, fail) : answer(value)), fail)
return [settle, () => state, () => slice(join(printed, '\\n'), 0, MAX + 1), () => slice(result, 0, 1200)]
`
