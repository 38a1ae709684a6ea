import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  unquoted,
} from '../../core/json/lexer.ts'

export interface JsonItems {
  /** `array`: its elements. `lines`: one object or array after another. The others have no items. */
  readonly kind: 'array' | 'lines' | 'object' | 'scalar' | 'missing'
  readonly count: number
  /** First keys of the object that stands where an array was looked for, or where the path ended. */
  readonly keys: readonly string[]
}

/** `of`: an element of the array, or a root value, which is an item when there are several. Bytes are half-open. */
export type OnJsonItem = (of: 'array' | 'root', index: number, start: number, end: number) => void

/** Takes the text piece by piece. */
export interface JsonItemScanner {
  push(bytes: Uint8Array, start: number): void
  end(size: number): JsonItems
}

interface Frame {
  readonly kind: 'array' | 'object'
  readonly start: number
  index: number
  /** Undefined until the colon: the next string is a key. */
  key: string | undefined
}

const MAX_KEYS = 20
const MAX_KEY_BYTES = 1000

/**
 * Finds the elements of one array, at `path` from the root, without parsing any value: a state machine over bytes, so
 * that one line of 100 MB needs no more memory than one of 1 KB.
 */
export function jsonItemScanner(path: readonly string[], onItem: OnJsonItem): JsonItemScanner {
  /** Containers on the path that are open now. Deeper ones are only counted. */
  const frames: Frame[] = []
  let depth = 0
  let inString = false
  let escaped = false
  let keyBytes: number[] | undefined
  let valueAt = -1
  let roots = 0
  let scalarRoots = 0
  let found: 'array' | 'object' | undefined
  let elements = 0
  let keys: string[] = []

  function beginValue(at: number): void {
    if (valueAt === -1) valueAt = at
  }

  function endValue(end: number, scalar: boolean): void {
    if (valueAt === -1) return
    const start = valueAt
    valueAt = -1
    if (frames.length === 0) {
      onItem('root', roots++, start, end)
      if (scalar) scalarRoots++
    } else if (found === 'array' && frames.length === path.length + 1) onItem('array', elements++, start, end)
  }

  function isOnPath(): boolean {
    const parent = frames.at(-1)
    if (parent === undefined) return roots === 0
    if (found !== undefined || frames.length > path.length) return false
    return path[frames.length - 1] === (parent.kind === 'array' ? String(parent.index) : parent.key)
  }

  function open(kind: 'array' | 'object', at: number): void {
    beginValue(at)
    depth++
    if (!isOnPath()) return
    frames.push({ kind, start: valueAt, index: 0, key: undefined })
    valueAt = -1
    keys = []
    if (frames.length === path.length + 1) found = kind
  }

  function close(end: number): void {
    if (depth === 0) return
    if (depth > frames.length) {
      if (--depth === frames.length) endValue(end, false)
      return
    }
    endValue(end - 1, true)
    depth--
    valueAt = frames.pop()?.start ?? -1
    endValue(end, false)
  }

  function endString(end: number): void {
    inString = false
    if (keyBytes === undefined) {
      if (depth === frames.length) endValue(end, true)
      return
    }
    const key = unquoted(`"${Buffer.from(keyBytes).toString('utf8')}"`)
    keyBytes = undefined
    const frame = frames.at(-1)
    if (frame !== undefined) frame.key = key
    if (keys.length < MAX_KEYS) keys.push(key)
  }

  function insideString(byte: number, at: number): void {
    if (escaped) escaped = false
    else if (byte === BACKSLASH) escaped = true
    else if (byte === QUOTE) return endString(at + 1)
    if (keyBytes !== undefined && keyBytes.length < MAX_KEY_BYTES) keyBytes.push(byte)
  }

  function beginString(at: number): void {
    inString = true
    if (depth !== frames.length) return
    const frame = frames.at(-1)
    if (frame?.kind === 'object' && frame.key === undefined) keyBytes = []
    else beginValue(at)
  }

  function step(byte: number, at: number): void {
    if (inString) return insideString(byte, at)
    if (byte === QUOTE) return beginString(at)
    if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) return open(byte === OPEN_ARRAY ? 'array' : 'object', at)
    if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) return close(at + 1)
    // What lies deeper than the path needs no more than the count of its brackets.
    if (depth !== frames.length) return
    if (byte <= 0x20) return endValue(at, true)
    if (byte === COMMA) {
      endValue(at, true)
      const frame = frames.at(-1)
      if (frame === undefined) return
      frame.index++
      frame.key = undefined
    } else if (byte !== COLON) beginValue(at)
  }

  return {
    push(bytes, start) {
      for (let i = 0; i < bytes.length; i++) step(bytes[i] ?? 0, start + i)
    },
    end(size) {
      if (depth === 0) endValue(size, true)
      if (found === 'array') return { kind: 'array', count: elements, keys }
      if (roots > 1 && scalarRoots === 0 && path.length === 0) return { kind: 'lines', count: roots, keys }
      if (found === 'object') return { kind: 'object', count: 0, keys }
      return { kind: path.length > 0 ? 'missing' : 'scalar', count: 0, keys }
    },
  }
}
